// Values of a body → entries, each with the place that a change is written to.

import type { Entry } from './conversation.js'
import { plainJson, span, type JsonNode } from './json-text.js'
import { asString, present, type JsonObjectNode, type JsonStringNode } from './members.js'

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

/** One message's: texts, of which there is at least one, then tool calls (decisions 19 and 19a). */
export function messageEntries(entries: readonly Entry[], role: string): readonly Entry[] {
  const texts = entries.filter(({ kind }) => kind === 'text')
  const none: readonly Entry[] = [{ kind: 'text', role, content: '' }]
  return [
    ...(texts.length === 0 ? none : texts),
    ...entries.filter((entry) => !texts.includes(entry)),
  ]
}

/** Log probabilities say the texts again, token by token. */
export function withEchoes(
  entries: readonly Entry[],
  object: JsonObjectNode,
  name = 'logprobs',
): readonly Entry[] {
  const logprobs = present(object.members.get(name))
  if (logprobs === undefined) return entries
  return entries.map((entry) => ({
    ...entry,
    echoes: [...(entry.echoes ?? []), span(logprobs)],
  }))
}
