// Reads an event of a streamed reply of the OpenAI Responses API: deltas, and the same texts again, up to three times.

import type { JsonNode } from '../../../kit/json/json-node.js'
import {
  asArray,
  asObject,
  asString,
  type JsonObjectNode,
  member,
  present,
} from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { callNames } from '../text/calls.js'
import {
  eventTexts,
  goingOn,
  indexOf,
  NOTHING,
  repeated,
  spokenAt,
  type TextsAndEnds,
  together,
  whole,
} from '../text/event-texts.js'
import { formOf } from '../text/form.js'
import { type At, callOf, type FoundText, foundText, type Source } from '../text/found-text.js'
import { roleOf } from '../text/message.js'
import { sweepMember, sweepObject } from '../text/sweep.js'
import { addEchoes } from '../text/tokens.js'
import { besideEvent, IN_RESPONSE, IN_RESPONSE_EVENT } from './beside.js'
import { isMessageItem, ITEMS, sweepItem } from './responses-items.js'

interface Event {
  readonly json: Source
  readonly root: JsonObjectNode
  readonly stem: string
  /** Last word of the type: added, delta, done, completed … */
  readonly step: string
}

/** type: starts with "response.". */
export function* readResponseEvent(
  json: Source,
  root: JsonObjectNode,
  type: string,
): Work<TextsAndEnds> {
  const dot = type.lastIndexOf('.')
  const event = { json, root, stem: type.slice(0, dot), step: type.slice(dot + 1) }
  const [read, found] = (yield* readStep(event)) ?? (yield* readOther(event))
  return together([
    found,
    yield* besideEvent(root, spokenAt(json, 'event'), read, IN_RESPONSE_EVENT),
  ])
}

/** Returns the members that are read here, and what they say; undefined: the event is not known. */
function* readStep(event: Event): Work<readonly [readonly string[], TextsAndEnds] | undefined> {
  const { stem, step } = event
  const text = TEXTS.get(stem)
  const part = PARTS.get(stem)
  const isAdded = step === 'added'
  const isDone = step === 'done'
  if (text !== undefined && step === 'delta')
    return [['delta', 'logprobs'], yield* readDelta(event, text)]
  if (text !== undefined && isDone) return [[text.member, 'logprobs'], yield* readDone(event, text)]
  if (part !== undefined && (isAdded || isDone)) return [['part'], yield* readPart(event, part)]
  if (stem === 'response.output_item' && (isAdded || isDone))
    return [['item'], yield* readItem(event)]
  if (stem === 'response.output_text.annotation' && isAdded)
    return [['annotation'], yield* readAnnotation(event)]
  if (stem === 'response' && STEPS.has(step)) return [['response'], yield* readResponse(event)]
  return undefined
}

const STEPS = new Set(['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'])
const LAST_STEPS = new Set(['completed', 'incomplete', 'failed'])

interface Text {
  /** Name of the channel within the item. */
  readonly of: 'content' | 'summary' | 'arguments' | 'input' | 'code' | 'transcript'
  /** Member that has the whole text at the end. */
  readonly member: string
}

const TEXTS: ReadonlyMap<string, Text> = new Map<string, Text>([
  ['response.output_text', { of: 'content', member: 'text' }],
  ['response.refusal', { of: 'content', member: 'refusal' }],
  ['response.reasoning_text', { of: 'content', member: 'text' }],
  ['response.reasoning_summary_text', { of: 'summary', member: 'text' }],
  ['response.function_call_arguments', { of: 'arguments', member: 'arguments' }],
  ['response.mcp_call_arguments', { of: 'arguments', member: 'arguments' }],
  ['response.custom_tool_call_input', { of: 'input', member: 'input' }],
  ['response.code_interpreter_call_code', { of: 'code', member: 'code' }],
  ['response.audio.transcript', { of: 'transcript', member: 'transcript' }],
])

/** Events about a part of an item → the list that contains the part. */
const PARTS: ReadonlyMap<string, 'content' | 'summary'> = new Map([
  ['response.content_part', 'content'],
  ['response.reasoning_part', 'content'],
  ['response.reasoning_summary_part', 'summary'],
])

const itemChannel = ({ json, root }: Event): string => indexOf(json, member(root, 'output_index'))

function channelOf(event: Event, of: Text['of']): string {
  const channel = `${itemChannel(event)} ${of}`
  if (of !== 'content' && of !== 'summary') return channel
  return `${channel} ${indexOf(event.json, member(event.root, `${of}_index`))}`
}

/** Audio and images, in base64. */
const MEDIA = formOf({ '': { delta: 'file', partial_image_b64: 'file' } })
const SOUND: ReadonlySet<string> = new Set(['response.audio', 'response.image_generation_call'])

/** Reads an event that is not known; what its delta says continues, too. */
function* readOther({
  json,
  root,
  stem,
  step,
}: Event): Work<readonly [readonly string[], TextsAndEnds]> {
  const at = spokenAt(json, `${indexOf(json, member(root, 'output_index'))} ${stem}`)
  const read = ['delta', 'partial_image_b64']
  const found: FoundText[] = []
  for (const name of read) {
    const node = member(root, name)
    const holds = SOUND.has(stem) ? 'file' : undefined
    if (node !== undefined) yield* sweepMember(node, { name, holds }, at, MEDIA, found)
  }
  return [read, step === 'delta' ? continuing(found) : whole(found)]
}

function* readText(event: Event, text: Text, name: string): Work<TextsAndEnds> {
  const at = spokenAt(event.json, channelOf(event, text.of))
  const node = present(member(event.root, name))
  const isCall = text.of === 'arguments' || text.of === 'input'
  const texts: FoundText[] =
    node === undefined
      ? []
      : [
          isCall
            ? yield* callOf(asString(node, name), at, text.of === 'arguments')
            : foundText(asString(node, name), at),
        ]
  const logprobs = present(member(event.root, 'logprobs'))
  if (logprobs !== undefined) yield* addEchoes(texts, 0, [{ name: 'logprobs', node: logprobs }], at)
  return goingOn(texts)
}

function* readDelta(event: Event, text: Text): Work<TextsAndEnds> {
  const { texts } = yield* readText(event, text, 'delta')
  return continuing(texts)
}

/** Texts that an event before this one has begun. */
const continuing = (texts: readonly FoundText[]): TextsAndEnds =>
  goingOn(texts.map((text) => ({ ...text, continues: true })))

function* readDone(event: Event, text: Text): Work<TextsAndEnds> {
  const { texts } = yield* readText(event, text, text.member)
  return { texts: repeated(texts), ends: [channelOf(event, text.of)] }
}

/** Members whose text is that of the part's channel. */
const SPOKEN: ReadonlySet<string> = new Set(['text', 'refusal', 'transcript'])

function* readPart(event: Event, of: 'content' | 'summary'): Work<TextsAndEnds> {
  const channel = channelOf(event, of)
  const part = asObject(member(event.root, 'part'), 'a part')
  const found: FoundText[] = []
  yield* sweepObject(part, 'part', spokenAt(event.json, channel), ITEMS, found)
  const texts = found.map((text) =>
    SPOKEN.has(text.channel.slice(channel.length + 1)) ? { ...text, channel } : text,
  )
  return event.step === 'added' ? goingOn(texts) : { texts: repeated(texts), ends: [channel] }
}

function* readItem(event: Event): Work<TextsAndEnds> {
  const channel = itemChannel(event)
  const { spoken, own } = yield* itemTexts(event.json, member(event.root, 'item'), channel)
  if (event.step === 'added') {
    // What a reasoning item has thought comes later; then it comes again, as it ends.
    const { companions } = event.json
    for (const one of companions.splice(0)) companions.push({ ...one, isAhead: true })
    const call = callNames(event.json.text, [member(event.root, 'item')])
    const begun = spoken.map((text) => (call === undefined ? text : { ...text, call }))
    return together([goingOn(begun), whole(own)])
  }
  return together([whole(own), { texts: repeated(spoken), ends: [channel] }])
}

interface ItemTexts {
  /** Texts that events with deltas contain as well. */
  readonly spoken: readonly FoundText[]
  /** Texts that only the item contains. */
  readonly own: readonly FoundText[]
}

function* itemTexts(json: Source, node: JsonNode | undefined, channel: string): Work<ItemTexts> {
  const item = asObject(node, 'an output item')
  const role = isMessageItem(item) ? roleOf(item, 'assistant') : 'assistant'
  const found: FoundText[] = []
  yield* sweepItem(item, spokenAt(json, channel, role), found)
  const spoken: FoundText[] = []
  const own: FoundText[] = []
  for (const text of found) {
    if (json.pace.isDue()) yield
    const path = inItem(text.channel.slice(channel.length + 1))
    const list = DELTAS.test(path) ? spoken : own
    list.push({ ...text, channel: `${channel} ${path}` })
  }
  return { spoken, own }
}

/** Returns the channel as the events with deltas call it. */
function inItem(path: string): string {
  const [list = '', index = '0', name, ...rest] = path.split(' ')
  const isPart = list === 'content' || list === 'summary'
  return isPart && (name === undefined || SPOKEN.has(name)) && rest.length === 0
    ? `${list} ${index}`
    : path
}

const DELTAS = /^(?:(?:content|summary) \d+|arguments|input|code)$/

function* readAnnotation(event: Event): Work<TextsAndEnds> {
  const annotation = present(member(event.root, 'annotation'))
  if (annotation === undefined) return NOTHING
  const found: FoundText[] = []
  const channel = channelOf(event, 'content')
  const at: At = { ...spokenAt(event.json, channel), about: { object: event.root, channel } }
  const place = { name: 'annotation', holds: 'inner' } as const
  yield* sweepMember(annotation, place, at, ITEMS, found)
  return eventTexts(found, () => false)
}

/** Reads the response as it is so far. */
function* readResponse({ json, root, step }: Event): Work<TextsAndEnds> {
  const response = asObject(member(root, 'response'), 'the response')
  const output = present(member(response, 'output'))
  const items = output === undefined ? [] : asArray(output, 'output').items
  const texts: FoundText[] = []
  for (const [at, item] of items.entries()) {
    const { spoken, own } = yield* itemTexts(json, item, String(at))
    for (const text of [...spoken, ...own]) texts.push(text)
  }
  return together([
    yield* besideEvent(response, spokenAt(json, 'response'), ['output'], IN_RESPONSE),
    { texts: repeated(texts), ends: LAST_STEPS.has(step) ? [''] : [] },
  ])
}
