// What the readers of streamed replies build: texts, where they stand, and what they end.

import { span, type JsonNode } from '../json/json-text.js'
import { member, present, type JsonObjectNode, type JsonStringNode } from '../json/members.js'
import { UnreadableForm } from '../json/unreadable-form.js'
import { ECHOES, PROSE } from './prose.js'
import type { Piece } from './stream-event.js'
import { tokensIn } from './tokens.js'

export interface SaidText extends Piece {
  /** It says again, whole, what its channel said. */
  readonly isRepeat?: boolean
}

export interface Said {
  readonly texts: readonly SaidText[]
  readonly ends: readonly string[]
}

export const NOTHING: Said = { texts: [], ends: [] }

export const together = (all: readonly Said[]): Said => ({
  texts: all.flatMap(({ texts }) => texts),
  ends: all.flatMap(({ ends }) => ends),
})

/** Texts that go on in later events. */
export const goingOn = (texts: readonly SaidText[]): Said => ({ texts, ends: [] })

/** Texts that are whole: nothing is added to them later. */
export const whole = (texts: readonly SaidText[]): Said => ({
  texts,
  ends: [...new Set(texts.map(({ channel }) => channel))],
})

export const repeated = (texts: readonly SaidText[]): readonly SaidText[] =>
  texts.map((text) => ({ ...text, isRepeat: true }))

export const textOf = (node: JsonStringNode, channel: string, role = 'assistant'): SaidText => ({
  channel,
  kind: 'text',
  role,
  text: node.value,
  place: span(node),
  form: 'string',
})

export const toolCallOf = (node: JsonStringNode, channel: string, isJson = false): SaidText => ({
  ...textOf(node, channel, 'tool_call'),
  kind: 'tool-call',
  ...(isJson && { isJson }),
})

/** A tool call whose arguments are JSON in place. */
export const jsonToolCallOf = (node: JsonNode, channel: string, json: string): SaidText => ({
  channel,
  kind: 'tool-call',
  role: 'tool_call',
  text: json.slice(node.start, node.end),
  place: span(node),
  form: 'json',
  isJson: true,
})

/** Whether strings under a member of this name (in lower case) are text. owner: the object that it is a member of. */
export type Picks = (name: string, owner?: JsonObjectNode) => boolean

export const isProse: Picks = (name) => PROSE.has(name)

/** Names whose strings are never what a model says. */
const LABELS: ReadonlySet<string> = new Set([
  'call_id',
  'event_id',
  'id',
  'item_id',
  'model',
  'object',
  'request_id',
  'response_id',
  'role',
  'status',
  'type',
])

export const isNoLabel: Picks = (name) => !LABELS.has(name)

/** Every text below a node, each on a channel of its own: the given one and the path to it. */
export function sweep(
  node: JsonNode,
  channel: string,
  picks: Picks = isProse,
  name = '',
  owner?: JsonObjectNode,
): readonly SaidText[] {
  if (node.type === 'string') return picks(name.toLowerCase(), owner) ? [textOf(node, channel)] : []
  if (node.type === 'array')
    return node.items.flatMap((item, at) => sweep(item, `${channel} ${at}`, picks, name, owner))
  return node.type === 'object' ? sweepRest(node, channel, NONE, picks) : []
}

const NONE: ReadonlySet<string> = new Set()

/** The same of the members that are not read by themselves. What says the texts again goes with a change of them. */
export const sweepRest = (
  node: JsonObjectNode,
  channel: string,
  read: ReadonlySet<string>,
  picks: Picks = isProse,
): readonly SaidText[] =>
  withEchoes(
    node,
    [...node.members]
      .filter(([name]) => !read.has(name))
      .flatMap(([name, value]) => sweep(value, `${channel} ${name}`.trim(), picks, name, node)),
  )

function withEchoes(
  node: JsonObjectNode,
  texts: readonly SaidText[],
  names = ECHOES,
): readonly SaidText[] {
  const echoes = names.flatMap((name) => {
    const echo = node.members.get(name)
    return echo?.type === 'array' || echo?.type === 'object' ? [span(echo)] : []
  })
  if (echoes.length === 0) return texts
  return texts.map((text) => ({ ...text, echoes: [...(text.echoes ?? []), ...echoes] }))
}

/**
 * With the log probabilities that are a member of the node. They say its texts again, token by token; beside no text
 * they are the text.
 */
export function withLogprobs(
  node: JsonObjectNode,
  channel: string,
  texts: readonly SaidText[],
  name = 'logprobs',
): readonly SaidText[] {
  const echoing = withEchoes(node, texts, [name, ...ECHOES])
  const logprobs = present(member(node, name))
  const tokens = logprobs === undefined ? '' : tokensIn(logprobs)
  const ids = node.members.get('token_ids')
  const hasIds = ids?.type === 'array' && ids.items.length > 0
  if ((tokens === '' && !hasIds) || texts.some(({ text }) => text !== '')) return echoing
  const [first, ...others] = echoing
  return [
    ...(first === undefined ? [] : [{ ...first, isAhead: true }]),
    ...others,
    ...(logprobs === undefined || tokens === ''
      ? []
      : [tokensOf(logprobs, `${channel} ${name}`, tokens)]),
  ]
}

const tokensOf = (logprobs: JsonNode, channel: string, text: string): SaidText => ({
  channel,
  kind: 'text',
  role: 'assistant',
  text,
  place: span(logprobs),
  form: 'tokens',
})

/**
 * For a form that is not known.
 * @throws UnreadableForm when it holds a string that could be text.
 */
export function provenSilent(node: JsonNode, what: string): Said {
  if (sweep(node, '', isNoLabel).length > 0) throw new UnreadableForm(`${what} is not known`)
  return NOTHING
}

/** The number of a choice, item or block; absent: what is given instead. */
export function indexOf(json: string, node: JsonNode | undefined, otherwise = 0): string {
  const given = present(node)
  if (given === undefined) return String(otherwise)
  const index = Number(json.slice(given.start, given.end))
  if (given.type !== 'number' || !Number.isSafeInteger(index) || index < 0)
    throw new UnreadableForm('an index is not a whole number')
  return String(index)
}
