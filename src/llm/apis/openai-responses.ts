// The OpenAI Responses API ↔ entries: items of input and output, instructions, variables of a prompt.

import type { Entry } from '../text/conversation.js'
import { messageEntries, stringEntry } from '../text/entries.js'
import type { JsonNode } from '../json/json-text.js'
import {
  asArray,
  asObject,
  asString,
  expectNoText,
  member,
  present,
  type JsonObjectNode,
} from '../json/members.js'
import { ITEMS, OF_REQUEST } from './openai-response-items.js'
import { promptParts } from '../text/prompt-parts.js'
import { PROSE } from '../text/prose.js'
import { typedEntries, type Grammar, type Speaker } from '../text/typed-entries.js'

/** body: with input (not a list of strings), instructions or a prompt. */
export const readResponsesRequest = (body: JsonObjectNode, json: string): readonly Entry[] => [
  ...instructionEntries(body, json),
  ...promptEntries(body, json),
  ...promptParts(body),
  ...inputEntries(present(member(body, 'input')), json),
]

function instructionEntries(body: JsonObjectNode, json: string): readonly Entry[] {
  const given = present(member(body, 'instructions'))
  return given?.type === 'array'
    ? itemEntries(given.items, { json, role: 'system', toolRole: 'tool' })
    : stringEntry(given, 'system', 'instructions')
}

/** A prompt that the server keeps, with values for its variables: strings and parts. */
function promptEntries(body: JsonObjectNode, json: string): readonly Entry[] {
  const given = present(member(body, 'prompt'))
  if (given === undefined) return []
  const prompt = asObject(given, 'the prompt')
  for (const [name, value] of prompt.members)
    if (name !== 'variables' && name !== 'version') expectNoText(value, 'the prompt', name)
  const variables = present(member(prompt, 'variables'))
  if (variables === undefined) return []
  const speaker = { json, role: 'user', toolRole: 'tool' }
  return [...asObject(variables, 'variables').members.values()].flatMap((value) =>
    typedEntries(value, 'content', speaker, ITEMS),
  )
}

function inputEntries(input: JsonNode | undefined, json: string): readonly Entry[] {
  if (input === undefined || input.type === 'string') return stringEntry(input, 'user', 'input')
  return itemEntries(asArray(input, 'input').items, { json, role: 'user', toolRole: 'tool' })
}

/** body: with output. */
export function readResponsesReply(body: JsonObjectNode, json: string): readonly Entry[] {
  const role = 'assistant'
  const output = asArray(member(body, 'output'), 'output').items
  const entries = itemEntries(output, { json, role, toolRole: role })
  // Some servers add what official clients put together from the output.
  const again = stringEntry(member(body, 'output_text'), role, 'output_text')
  const more = [...body.members]
    .filter(([name]) => !READ.has(name) && !OF_REQUEST.has(name))
    .flatMap(([name, node]) => typedEntries(node, name, { json, role, toolRole: role }, BESIDE))
  return messageEntries([...entries, ...again, ...more], role)
}

const READ: ReadonlySet<string> = new Set(['output', 'output_text', 'error'])

/** vLLM adds the messages as the model read and wrote them, where the client asks for that. */
const BESIDE: Grammar = {
  types: new Set(),
  typed: new Set(),
  texts: new Set([...PROSE, 'message', 'input_messages', 'output_messages']),
  ownTexts: new Map(),
  calls: new Set(),
  opaque: new Set(),
  toolResults: new Set(),
}

const itemEntries = (items: readonly JsonNode[], speaker: Speaker): readonly Entry[] =>
  items.flatMap((node) => {
    const item = asObject(node, 'an item')
    const type = present(member(item, 'type'))
    const given = present(member(item, 'role'))
    const isMessage = type === undefined ? given !== undefined : isString(type, 'message')
    if (!isMessage && type === undefined) {
      // A reference to another one, by its id.
      expectNoText(item, 'an item')
      return []
    }
    if (!isMessage) return typedEntries(item, 'input', speaker, ITEMS)
    const role = given === undefined ? speaker.role : asString(given, 'a role').value
    return messageEntries(typedEntries(item, '', { ...speaker, role }, ITEMS), role)
  })

const isString = (node: JsonNode, value: string): boolean =>
  node.type === 'string' && node.value === value
