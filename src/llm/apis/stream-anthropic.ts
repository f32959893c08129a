// An event of a streamed reply of Anthropic's messages API: blocks of content that begin, go on and stop.

import {
  asArray,
  asObject,
  asString,
  member,
  present,
  type JsonObjectNode,
} from '../json/members.js'
import { readBlock } from './stream-anthropic-blocks.js'
import { errorTexts } from '../text/stream-error-event.js'
import {
  goingOn,
  indexOf,
  isProse,
  NOTHING,
  provenSilent,
  sweep,
  sweepRest,
  textOf,
  together,
  toolCallOf,
  whole,
  type Picks,
  type Said,
} from '../text/stream-said.js'

type Reader = (json: string, root: JsonObjectNode) => Said

const readStart: Reader = (json, root) => {
  const message = asObject(member(root, 'message'), 'a message')
  const content = present(member(message, 'content'))
  const blocks = content === undefined ? [] : asArray(content, 'content').items
  return together([
    ...blocks.map((block, at) => readBlock(json, block, String(at))),
    whole(sweepRest(message, 'message', new Set(['content']))),
  ])
}

const blockOf: (json: string, root: JsonObjectNode) => string = (json, root) =>
  indexOf(json, member(root, 'index'))

const readDelta: Reader = (json, root) => {
  const channel = blockOf(json, root)
  const delta = asObject(member(root, 'delta'), 'a delta')
  const type = asString(member(delta, 'type'), 'the type of a delta').value
  const read = DELTAS.get(type)
  if (read === undefined) return provenSilent(delta, 'a delta')
  return together([
    read(delta, channel),
    whole(sweepRest(delta, channel, new Set([DELTA_MEMBERS[type] ?? '']))),
  ])
}

type DeltaReader = (delta: JsonObjectNode, channel: string) => Said

const text =
  (name: string): DeltaReader =>
  (delta, channel) => {
    const said = present(member(delta, name))
    return said === undefined
      ? NOTHING
      : goingOn([textOf(asString(said, name), `${channel} ${name}`)])
  }

const DELTAS: ReadonlyMap<string, DeltaReader> = new Map<string, DeltaReader>([
  ['text_delta', text('text')],
  ['thinking_delta', text('thinking')],
  ['compaction_delta', text('content')],
  ['signature_delta', () => NOTHING],
  [
    'input_json_delta',
    (delta, channel) => {
      const json = asString(member(delta, 'partial_json'), 'partial_json')
      return goingOn([toolCallOf(json, `${channel} input`, true)])
    },
  ],
  [
    'citations_delta',
    (delta, channel) => {
      const citation = asObject(member(delta, 'citation'), 'a citation')
      return whole(sweep(citation, `${channel} citation`, isCited))
    },
  ],
])

/** The members that the readers of deltas read. */
const DELTA_MEMBERS: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  compaction_delta: 'content',
  citations_delta: 'citation',
}

const isCited: Picks = (name) => isProse(name) || name === 'cited_text'

const EVENTS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['message_start', readStart],
  [
    'content_block_start',
    (json, root) =>
      readBlock(json, asObject(member(root, 'content_block'), 'a block'), blockOf(json, root)),
  ],
  ['content_block_delta', readDelta],
  ['content_block_stop', (json, root) => ({ texts: [], ends: [blockOf(json, root)] })],
  ['message_delta', () => NOTHING],
  ['message_stop', () => ({ texts: [], ends: [''] })],
  ['ping', () => NOTHING],
])

export const isMessageEvent = (type: string): boolean => EVENTS.has(type)

/** type: isMessageEvent. */
export const readMessageEvent = (json: string, root: JsonObjectNode, type: string): Said =>
  together([
    EVENTS.get(type)?.(json, root) ?? provenSilent(root, 'an event of a message'),
    whole(sweepRest(root, 'event', ROOT_MEMBERS.get(type) ?? new Set())),
    whole(errorTexts(root)),
  ])

/** Members that are read by themselves, where the event has them. */
const ROOT_MEMBERS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['message_start', new Set(['message'])],
  ['content_block_start', new Set(['content_block'])],
  ['content_block_delta', new Set(['delta'])],
])
