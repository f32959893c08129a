// Reads an event of a streamed reply of Anthropic's messages API: blocks of content that start, continue and stop.

import type { JsonNode } from '../../../kit/json/json-node.js'
import {
  asArray,
  asObject,
  type JsonObjectNode,
  member,
  present,
} from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { callNames } from '../text/calls.js'
import { eventTexts, indexOf, spokenAt, type TextsAndEnds, together } from '../text/event-texts.js'
import { formOf } from '../text/form.js'
import { type At, callOf, type FoundText, type Source } from '../text/found-text.js'
import { roleOf } from '../text/message.js'
import { OF_MESSAGES } from '../text/settings.js'
import { sweepObject } from '../text/sweep.js'
import { besideEvent, IN_MESSAGE_EVENT, IN_REPLY } from './beside.js'
import { MESSAGES } from './messages.js'

/** Event → the member that is read separately. */
const EVENTS: ReadonlyMap<string, string> = new Map([
  ['message_start', 'message'],
  ['content_block_start', 'content_block'],
  ['content_block_delta', 'delta'],
  ['content_block_stop', ''],
  ['message_delta', ''],
  ['message_stop', ''],
  ['ping', ''],
])

/** Whether an event of this type belongs to Anthropic's messages API. */
export const isMessageEvent = (type: string): boolean => EVENTS.has(type)

/** type: one that isMessageEvent() accepts. */
export function* readMessageEvent(
  json: Source,
  root: JsonObjectNode,
  type: string,
): Work<TextsAndEnds> {
  const name = EVENTS.get(type) ?? ''
  const read = name === '' ? [] : [name]
  const rest = yield* besideEvent(root, spokenAt(json, 'event'), read, IN_MESSAGE_EVENT)
  const index = (): string => indexOf(json, member(root, 'index'))
  switch (type) {
    case 'message_start':
      return together([yield* readStart(json, asObject(member(root, name), 'a message')), rest])
    case 'content_block_start':
      return together([yield* readBlock(member(root, name), spokenAt(json, index())), rest])
    case 'content_block_delta':
      return together([yield* readDelta(member(root, name), spokenAt(json, index())), rest])
    case 'content_block_stop':
      return together([rest, { texts: [], ends: [index()] }])
    case 'message_stop':
      return together([rest, { texts: [], ends: [''] }])
    default:
      return rest
  }
}

const READ = ['content', 'role']

function* readStart(json: Source, message: JsonObjectNode): Work<TextsAndEnds> {
  const role = roleOf(message, 'assistant')
  const content = present(member(message, 'content'))
  const blocks = content === undefined ? [] : asArray(content, 'content').items
  const found: TextsAndEnds[] = []
  for (const [at, block] of blocks.entries())
    found.push(yield* readBlock(block, spokenAt(json, String(at), role)))
  found.push(yield* besideEvent(message, spokenAt(json, 'message', role), READ, IN_REPLY))
  return together(found)
}

/** Texts that deltas continue, by the last word of the channel. */
const GOES_ON: ReadonlySet<string> = new Set(['text', 'thinking', 'content', 'input'])

/** at: the block's channel. A tool call starts with an empty input, or with all of it. */
function* readBlock(node: JsonNode | undefined, at: At): Work<TextsAndEnds> {
  const block = asObject(node, 'a block')
  const { channel = '' } = at
  const found: FoundText[] = []
  yield* sweepObject(block, 'content_block', at, MESSAGES, found)
  const texts = found
    .filter(({ kind, text }) => kind === 'text' || text !== '{}')
    .map((text) =>
      text.kind === 'tool-call' && text.form === 'json'
        ? { ...text, channel: `${channel} whole_input` }
        : text,
    )
  const [type, call] = [member(block, 'type'), callNames(at.json.text, [block])]
  if (type?.type === 'string' && call?.id !== undefined && block.members.has('input')) {
    // It says nothing yet.
    const begun = yield* callOf(type, { ...at, channel: `${channel} input` }, true)
    texts.push({ ...begun, text: '', call })
  }
  return eventTexts(texts, (one) => GOES_ON.has(one.slice(channel.length + 1)))
}

const DELTAS = formOf(
  {
    '': { text: 'text', thinking: 'text', content: 'text', cited_text: 'text' },
    delta: { citation: 'inner' },
    'delta:input_json_delta': { partial_json: 'jsonCall' },
  },
  OF_MESSAGES,
)

/** Everything in a delta continues, except citations. */
function* readDelta(node: JsonNode | undefined, at: At): Work<TextsAndEnds> {
  const delta = asObject(node, 'a delta')
  const { channel = '' } = at
  const found: FoundText[] = []
  yield* sweepObject(delta, 'delta', at, DELTAS, found)
  const texts = found.map((text) => ({
    ...text,
    continues: true,
    ...(text.kind === 'tool-call' && { channel: `${channel} input` }),
  }))
  return eventTexts(texts, (one) => !one.startsWith(`${channel} citation `))
}
