// OpenAI chat completions ↔ entries: every text of a message, wherever the API or servers that speak it put one.

import { UnreadableForm, type Entry } from './conversation.js'
import type { JsonNode, Span } from './json-text.js'
import {
  asArray,
  asObject,
  asString,
  member,
  present,
  type JsonArrayNode,
  type JsonObjectNode,
} from './members.js'

/** body: with messages. */
export const readChatRequest = (body: JsonObjectNode): readonly Entry[] =>
  asArray(member(body, 'messages'), 'messages').items.flatMap((item) => {
    const message = asObject(item, 'a message')
    const role = asString(member(message, 'role'), 'a role').value
    return [...textEntries(message, role), ...toolCallEntries(message)]
  })

/** body: with choices. */
export const readChatReply = (body: JsonObjectNode): readonly Entry[] =>
  asArray(member(body, 'choices'), 'choices').items.flatMap((item) => {
    const choice = asObject(item, 'a choice')
    for (const name of ['text', 'delta'])
      if (member(choice, name) !== undefined) throw new UnreadableForm(`a choice has ${name}`)
    const message = asObject(member(choice, 'message'), 'the message of a choice')
    const role = present(member(message, 'role'))
    const logprobs = present(member(choice, 'logprobs'))
    const echoes = logprobs === undefined ? [] : [logprobs]
    const texts = textEntries(
      message,
      role === undefined ? 'assistant' : asString(role, 'a role').value,
    )
    return [...texts, ...toolCallEntries(message)].map((entry) => ({ ...entry, echoes }))
  })

/** Members of a message whose strings are no prose, or that are read by themselves. */
export const NOT_PROSE: ReadonlySet<string> = new Set([
  'role',
  'content',
  'name',
  'tool_call_id',
  'tool_calls',
  'function_call',
  'annotations',
])
/** Below any other member, also one that we do not know, prose stands under one of these names. */
export const PROSE: ReadonlySet<string> = new Set([
  'refusal',
  'reasoning',
  'reasoning_content',
  'text',
  'content',
  'summary',
  'thinking',
  'transcript',
])

function textEntries(message: JsonObjectNode, role: string): readonly Entry[] {
  const entries = [...contentEntries(member(message, 'content'), role), ...moreTexts(message, role)]
  if (entries.length > 0) return entries
  const content = member(message, 'content')
  const place = content?.type === 'null' ? { place: span(content) } : {}
  return [{ kind: 'text', role, content: '', ...place }]
}

function contentEntries(node: JsonNode | undefined, role: string): readonly Entry[] {
  const content = present(node)
  if (content === undefined) return []
  if (content.type === 'string') return [textEntry(content, role)]
  return partEntries(asArray(content, 'content'), role)
}

/** Types of parts that hold no text of their own. */
export const OTHER_PARTS = new Set(['image_url', 'input_audio', 'file'])

const partEntries = (parts: JsonArrayNode, role: string): readonly Entry[] =>
  parts.items.flatMap((item) => {
    const part = asObject(item, 'a part of content')
    const type = asString(member(part, 'type'), 'the type of a part').value
    const text = member(part, type === 'refusal' ? 'refusal' : 'text')
    if (type === 'text' || type === 'refusal') return [textEntry(asString(text, type), role)]
    if (!OTHER_PARTS.has(type) || text !== undefined)
      throw new UnreadableForm('a part of content is of a type that is not known')
    return []
  })

/** What models that reason, refuse or speak say beside content. */
const moreTexts = (message: JsonObjectNode, role: string): readonly Entry[] =>
  [...message.members]
    .filter(([name]) => !NOT_PROSE.has(name))
    .flatMap(([name, node]) => prose(name, node, role))

function prose(name: string, node: JsonNode, role: string): readonly Entry[] {
  if (node.type === 'string') return PROSE.has(name) ? [textEntry(node, role)] : []
  if (node.type === 'array') return node.items.flatMap((item) => prose(name, item, role))
  if (node.type !== 'object') return []
  return [...node.members].flatMap(([inner, value]) => prose(inner, value, role))
}

function toolCallEntries(message: JsonObjectNode): readonly Entry[] {
  const calls = present(member(message, 'tool_calls'))
  const old = present(member(message, 'function_call'))
  const functions = [
    ...(calls === undefined ? [] : asArray(calls, 'tool_calls').items).map((call) =>
      toolCall(asObject(call, 'a tool call')),
    ),
    ...(old === undefined ? [] : [functionArguments(old)]),
  ]
  return functions.flatMap((entry) => entry ?? [])
}

function toolCall(call: JsonObjectNode): Entry | undefined {
  const custom = present(member(call, 'custom'))
  if (custom === undefined) return functionArguments(member(call, 'function'))
  const input = present(member(asObject(custom, 'a custom tool call'), 'input'))
  return input === undefined
    ? undefined
    : { ...textEntry(asString(input, 'an input'), 'tool_call'), kind: 'tool-call' }
}

function functionArguments(node: JsonNode | undefined): Entry | undefined {
  const given = present(member(asObject(node, 'a function call'), 'arguments'))
  return given === undefined
    ? undefined
    : { ...textEntry(asString(given, 'arguments'), 'tool_call'), kind: 'tool-call', isJson: true }
}

const textEntry = (node: Extract<JsonNode, { readonly type: 'string' }>, role: string): Entry => ({
  kind: 'text',
  role,
  content: node.value,
  place: span(node),
})

export const span = ({ start, end }: Span): Span => ({ start, end })
