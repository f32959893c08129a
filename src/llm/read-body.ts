// A body → what a webhook is shown of it, by the form that it has (decision 18). A form that is not read yet is an
// error, never a conversation without texts.

import { err, ok, type Result } from '../result.js'
import { UnreadableForm, type Conversation, type Entry } from './conversation.js'
import { readJson, type JsonNode, type JsonText } from './json-text.js'
import { asObject, member, type JsonObjectNode } from './members.js'
import { readChatReply, readChatRequest } from './openai-chat.js'

/** Of requests: each belongs to one form, or to one that is not read yet. */
const REQUEST_MARKS = [
  'messages',
  'prompt',
  'suffix',
  'input',
  'instructions',
  'contents',
  'system',
  'systemInstruction',
  'system_instruction',
] as const

/** The error is a sentence without any text of the body. */
export const readRequest = (body: Uint8Array): Result<Conversation, string> =>
  read(body, (root) => {
    const marks = REQUEST_MARKS.filter((name) => member(root, name) !== undefined)
    if (marks.length !== 1 || marks[0] !== 'messages')
      throw new UnreadableForm('it is not a chat completion, the only form that is read so far')
    return readChatRequest(root)
  })

const REPLY_MARKS = ['choices', 'content', 'completion', 'output', 'candidates', 'data'] as const

export const readReply = (body: Uint8Array): Result<Conversation, string> =>
  read(body, (root) => {
    const marks = REPLY_MARKS.filter((name) => member(root, name) !== undefined)
    if (marks.length !== 1 || marks[0] !== 'choices')
      throw new UnreadableForm('it is not a chat completion, the only form that is read so far')
    return readChatReply(root)
  })

function read(
  body: Uint8Array,
  entriesOf: (root: JsonObjectNode) => readonly Entry[],
): Result<Conversation, string> {
  const json = readJson(body)
  if (!json.ok) return json
  try {
    const root = asObject(json.value.root, 'the body')
    const entries = entriesOf(root)
    return ok({ json: json.value, entries, isStreamed: isTrue(json.value, member(root, 'stream')) })
  } catch (error) {
    if (error instanceof UnreadableForm) return err(error.message)
    throw error
  }
}

/** Anything but false and null may be taken for true. */
const isTrue = ({ text }: JsonText, node: JsonNode | undefined): boolean =>
  node !== undefined && !['false', 'null'].includes(text.slice(node.start, node.end))

/** Names under which LLM APIs put text. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  ...REPLY_MARKS.filter((name) => name !== 'data'),
  ...REQUEST_MARKS.map((name) => name.toLowerCase()),
  'arguments',
  'delta',
  'message',
  'parts',
  'text',
])

/** Whether a reply to a request without a body (a list of models, a page) holds nothing that a model said. */
export function isHarmless(body: Uint8Array): boolean {
  const json = readJson(body)
  if (json.ok) return holdsNoText(json.value.root)
  // Not JSON, nor what could pass for it or for a stream of it.
  return json.error === 'not UTF-8' || (json.error === 'not JSON' && !LIKE_JSON.test(start(body)))
}

const LIKE_JSON = /^\ufeff?\s*(?:[[{"]|(?:data|event|id|retry)?:)/

const start = (body: Uint8Array): string => Buffer.from(body.subarray(0, 1024)).toString()

function holdsNoText(node: JsonNode): boolean {
  if (node.type === 'array') return node.items.every(holdsNoText)
  if (node.type !== 'object') return true
  return [...node.members].every(
    ([name, value]) => !TEXT_MEMBERS.has(name.toLowerCase()) && holdsNoText(value),
  )
}
