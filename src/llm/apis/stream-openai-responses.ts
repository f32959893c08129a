// An event of a streamed reply of the OpenAI Responses API: deltas, and the same texts again, up to three times.

import {
  asArray,
  asObject,
  asString,
  member,
  present,
  type JsonObjectNode,
} from '../json/members.js'
import { OF_REQUEST } from './openai-response-items.js'
import { errorTexts } from '../text/stream-error-event.js'
import { itemTexts, partTexts } from './stream-response-items.js'
import {
  goingOn,
  indexOf,
  isProse,
  NOTHING,
  provenSilent,
  repeated,
  sweep,
  sweepRest,
  textOf,
  together,
  toolCallOf,
  whole,
  withLogprobs,
  type Picks,
  type Said,
} from '../text/stream-said.js'

interface Event {
  readonly json: string
  readonly root: JsonObjectNode
  /** The last word of its type: added, delta, done, completed … */
  readonly step: string
}

/** type: begins with "response.". */
export function readResponseEvent(json: string, root: JsonObjectNode, type: string): Said {
  const dot = type.lastIndexOf('.')
  const event = { json, root, step: type.slice(dot + 1) }
  const step = SILENT.has(type)
    ? (['delta', NOTHING] as const)
    : readStep(event, type.slice(0, dot))
  if (step === undefined) return provenSilent(root, 'an event of a response')
  const [read, said] = step
  const rest = sweepRest(root, 'event', new Set([read, 'error', 'logprobs']), isSpoken)
  return together([said, whole(rest), whole(errorTexts(root))])
}

/** Sound and images, in base64. */
const SILENT: ReadonlySet<string> = new Set([
  'response.audio.delta',
  'response.image_generation_call.partial_image',
])

/** The member that says what the event says, and what that is; undefined: the event is not known. */
function readStep(event: Event, stem: string): readonly [string, Said] | undefined {
  const text = TEXTS.get(stem)
  const part = PARTS.get(stem)
  const isAdded = event.step === 'added'
  const isDone = event.step === 'done'
  if (text !== undefined && event.step === 'delta') return ['delta', readDelta(event, text)]
  if (text !== undefined && isDone) return [text.member, readDone(event, text)]
  if (part !== undefined && (isAdded || isDone)) return ['part', readPart(event, part)]
  if (stem === 'response.output_item' && (isAdded || isDone)) return ['item', readItem(event)]
  if (stem === 'response.output_text.annotation' && isAdded)
    return ['annotation', readAnnotation(event)]
  if (stem === 'response' && STEPS.has(event.step)) return ['response', readResponse(event)]
  return undefined
}

const STEPS = new Set(['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed'])
const LAST_STEPS = new Set(['completed', 'incomplete', 'failed'])

/** What an event may say, wherever it does. */
const isSpoken: Picks = (name) => isProse(name) || SPOKEN.has(name)
const SPOKEN: ReadonlySet<string> = new Set(['delta', 'arguments', 'input', 'code'])

interface Text {
  /** Of the item: what the channel is called. */
  readonly of: 'content' | 'summary' | 'arguments' | 'input' | 'code' | 'transcript'
  /** The member that says all of it at the end. */
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

/** Events about a part of an item → the list that the part is in. */
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

function readText(event: Event, text: Text, name: string): Said {
  const channel = channelOf(event, text.of)
  const node = present(member(event.root, name))
  if (node === undefined) return NOTHING
  const said = asString(node, name)
  const isCall = text.of === 'arguments' || text.of === 'input'
  const read = isCall ? toolCallOf(said, channel, text.of === 'arguments') : textOf(said, channel)
  return goingOn(withLogprobs(event.root, channel, [read]))
}

const readDelta = (event: Event, text: Text): Said => readText(event, text, 'delta')

const readDone = (event: Event, text: Text): Said => ({
  texts: repeated(readText(event, text, text.member).texts),
  ends: [channelOf(event, text.of)],
})

function readPart(event: Event, of: 'content' | 'summary'): Said {
  const channel = channelOf(event, of)
  const part = asObject(member(event.root, 'part'), 'a part')
  const texts = partTexts(part, channel)
  return event.step === 'added' ? goingOn(texts) : { texts: repeated(texts), ends: [channel] }
}

function readItem(event: Event): Said {
  const channel = itemChannel(event)
  const item = asObject(member(event.root, 'item'), 'an output item')
  const { spoken, own } = itemTexts(event.json, item, channel)
  if (event.step === 'added') return together([goingOn(spoken), whole(own)])
  return { texts: [...repeated(spoken), ...own], ends: [channel] }
}

/** Titles and addresses of sources are not what the model says; what it cites of them is. */
function readAnnotation(event: Event): Said {
  const annotation = present(member(event.root, 'annotation'))
  const channel = `${channelOf(event, 'content')} annotation`
  return annotation === undefined ? NOTHING : whole(sweep(annotation, channel, isCited))
}

const isCited: Picks = (name) => isProse(name) || name === 'quote' || name === 'cited_text'

/** The response as it is so far. */
function readResponse({ json, root, step }: Event): Said {
  const response = asObject(member(root, 'response'), 'the response')
  const output = present(member(response, 'output'))
  const items = output === undefined ? [] : asArray(output, 'output').items
  const texts = items.flatMap((item, at) => {
    const { spoken, own } = itemTexts(json, item, String(at))
    return [...spoken, ...own]
  })
  return together([
    whole([...sweepRest(response, 'response', READ, isReply), ...errorTexts(response)]),
    { texts: repeated(texts), ends: LAST_STEPS.has(step) ? [''] : [] },
  ])
}

const isReply: Picks = (name) => isProse(name) || REPLY.has(name)
/** Of OpenAI's clients, and of vLLM, which adds the messages as the model read and wrote them. */
const REPLY = new Set(['output_text', 'message', 'input_messages', 'output_messages'])

const READ: ReadonlySet<string> = new Set(['output', 'error', ...OF_REQUEST])
