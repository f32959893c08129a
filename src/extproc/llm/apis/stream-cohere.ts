// Reads an event of a streamed reply of Cohere's chat: parts of content that start, continue and end, a plan before tools
// are called, the calls, and citations.

import { asObject, type JsonObjectNode, member, present } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { callNames } from '../text/calls.js'
import {
  eventTexts,
  indexOf,
  NOTHING,
  spokenAt,
  type TextsAndEnds,
  together,
} from '../text/event-texts.js'
import { formOf } from '../text/form.js'
import type { FoundText, Source } from '../text/found-text.js'
import { OF_REPLY } from '../text/settings.js'
import { sweepObject } from '../text/sweep.js'
import { addEchoes } from '../text/tokens.js'
import { besideEvent } from './beside.js'
import { MESSAGES } from './messages.js'

/** Event → the text that ends with it, after the index of the event. */
const EVENTS: ReadonlyMap<string, string> = new Map([
  ['message-start', ''],
  ['content-start', ''],
  ['content-delta', ''],
  ['content-end', 'content'],
  ['tool-plan-delta', ''],
  ['tool-call-start', ''],
  ['tool-call-delta', ''],
  ['tool-call-end', 'tool_calls'],
  ['citation-start', ''],
  ['citation-end', ''],
  ['message-end', ''],
])

/** Whether an event of this type belongs to Cohere's chat. */
export const isCohereEvent = (type: string): boolean => EVENTS.has(type)

const BESIDE = formOf({}, OF_REPLY)
const IN_DELTA = formOf({}, { '': { type: 'type' }, reply: { word: 'finish_reason' } })

/** type: one that isCohereEvent() accepts. */
export function* readCohereEvent(
  json: Source,
  root: JsonObjectNode,
  type: string,
): Work<TextsAndEnds> {
  const given = present(member(root, 'delta'))
  const delta = given && asObject(given, 'a delta')
  const said = delta && present(member(delta, 'message'))
  const index = indexOf(json, member(root, 'index'))
  const found: TextsAndEnds[] = []
  if (said !== undefined)
    found.push(yield* readMessage(json, root, asObject(said, 'a message'), { index, type }))
  if (delta !== undefined)
    found.push(yield* besideEvent(delta, spokenAt(json, 'delta'), ['message'], IN_DELTA))
  found.push(yield* besideEvent(root, spokenAt(json, 'event'), ['delta', 'logprobs'], BESIDE))
  const ended = EVENTS.get(type) ?? ''
  if (ended !== '') found.push({ texts: [], ends: [`${index} ${ended}`] })
  if (type === 'message-end') found.push({ texts: [], ends: [''] })
  // A plan is over when the first tool is called, or the model speaks.
  if (type === 'tool-call-start' || type === 'content-start')
    found.push({ texts: [], ends: [PLAN] })
  return together(found)
}

/** Channel of the plan, whose events have no index. */
const PLAN = 'tool_plan'

function* readMessage(
  json: Source,
  root: JsonObjectNode,
  message: JsonObjectNode,
  { index, type }: { readonly index: string; readonly type: string },
): Work<TextsAndEnds> {
  const at = spokenAt(json, index)
  const found: FoundText[] = []
  // The index of a citation is not that of the text in which it has its offsets.
  const about = { object: root, channel: '' }
  yield* sweepObject(message, 'message', { ...at, about }, MESSAGES, found)
  const begun = type.endsWith('-delta') ? { continues: true } : beginning(json, message)
  const texts = found.map((text) => ({ ...text, channel: channelOf(text, index), ...begun }))
  const logprobs = present(member(root, 'logprobs'))
  if (logprobs !== undefined) yield* addEchoes(texts, 0, [{ name: 'logprobs', node: logprobs }], at)
  if (texts.length === 0) return NOTHING
  return eventTexts(texts, (channel) => !channel.startsWith(`${index} citations `))
}

function beginning(json: Source, message: JsonObjectNode): Pick<FoundText, 'call'> {
  const calls = member(message, 'tool_calls')
  const call = calls?.type === 'array' ? calls.items[0] : calls
  const names = callNames(json.text, [call])
  return names === undefined ? {} : { call: names }
}

function channelOf({ kind, channel }: FoundText, index: string): string {
  if (kind === 'tool-call') return `${index} tool_calls`
  return channel === `${index} ${PLAN}` ? PLAN : channel
}
