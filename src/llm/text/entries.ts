// Values of a body → entries, each with the place that a change is written to.

import type { Entry } from './conversation.js'
import { plainJson, span, type JsonNode } from '../json/json-text.js'
import {
  asString,
  folded,
  present,
  type JsonObjectNode,
  type JsonStringNode,
} from '../json/members.js'
import { ECHOES, PROSE } from './prose.js'
import { tokensIn } from './tokens.js'

export const textEntry = (node: JsonStringNode, role: string): Entry => ({
  kind: 'text',
  role,
  content: node.value,
  place: span(node),
})

/** isJson: what the string says is JSON, and must stay so. */
export const toolCallEntry = (node: JsonStringNode, isJson: boolean): Entry => ({
  ...textEntry(node, 'tool_call'),
  kind: 'tool-call',
  ...(isJson && { isJson }),
})

/** JSON in the body itself, shown as its text. json: the body's. */
export const jsonEntry = (node: JsonNode, role: string, json: string): Entry => ({
  kind: 'text',
  role,
  content: plainJson(node, json),
  place: span(node),
  form: 'json',
  isJson: true,
})

/** What a tool is called with: JSON in the body, or a string. */
export const callEntry = (node: JsonNode, json: string, isJson: boolean): Entry =>
  node.type === 'string'
    ? toolCallEntry(node, isJson)
    : { ...jsonEntry(node, 'tool_call', json), kind: 'tool-call' }

/** Absent and null: none. */
export function stringEntry(
  node: JsonNode | undefined,
  role: string,
  what: string,
): readonly Entry[] {
  const given = present(node)
  return given === undefined ? [] : [textEntry(asString(given, what), role)]
}

/** Every string below a node, whatever it is called. */
export function stringsBelow(node: JsonNode | undefined, role: string): readonly Entry[] {
  if (node?.type === 'string') return [textEntry(node, role)]
  if (node?.type === 'array') return node.items.flatMap((item) => stringsBelow(item, role))
  if (node?.type !== 'object') return []
  return [...node.members.values()].flatMap((value) => stringsBelow(value, role))
}

/** One message's: texts, of which there is at least one, then tool calls (decisions 19 and 19a). */
export function messageEntries(entries: readonly Entry[], role: string): readonly Entry[] {
  const texts = entries.filter(({ kind }) => kind === 'text')
  const none: readonly Entry[] = [{ kind: 'text', role, content: '' }]
  return [
    ...(texts.length === 0 ? none : texts),
    ...entries.filter((entry) => !texts.includes(entry)),
  ]
}

/** Texts wherever they stand under a name of prose, but in members that are read by themselves. */
export const proseEntries = (
  object: JsonObjectNode,
  role: string,
  read: ReadonlySet<string>,
): readonly Entry[] => {
  const entries = [...object.members]
    .filter(([name]) => !read.has(name))
    .flatMap(([name, node]) => proseBelow(name, node, role))
  return withEchoes(entries, object)
}

const NONE: ReadonlySet<string> = new Set()

function proseBelow(name: string, node: JsonNode, role: string): readonly Entry[] {
  if (node.type === 'string') return PROSE.has(folded(name)) ? [textEntry(node, role)] : []
  if (node.type === 'array') return node.items.flatMap((item) => proseBelow(name, item, role))
  return node.type === 'object' ? proseEntries(node, role, NONE) : []
}

/** What says the texts again, token by token, goes with a change of them. names: of such members. */
export function withEchoes(
  entries: readonly Entry[],
  object: JsonObjectNode,
  names = ECHOES,
): readonly Entry[] {
  const echoes = names.flatMap((name) => {
    const node = object.members.get(name)
    return node?.type === 'array' || node?.type === 'object' ? [span(node)] : []
  })
  if (echoes.length === 0) return entries
  return entries.map((entry) => ({ ...entry, echoes: [...(entry.echoes ?? []), ...echoes] }))
}

/** Log probabilities say the texts of a choice again; beside no text they are the text. */
export function withLogprobs(
  entries: readonly Entry[],
  choice: JsonObjectNode,
  role: string,
  name = 'logprobs',
): readonly Entry[] {
  const logprobs = present(choice.members.get(name))
  const content = logprobs === undefined ? '' : tokensIn(logprobs)
  if (logprobs === undefined || content === '' || entries.some((entry) => entry.content !== ''))
    return withEchoes(entries, choice, [name, ...ECHOES])
  return [...entries, { kind: 'text', role, content, place: span(logprobs), form: 'tokens' }]
}
