// Which API a body belongs to: told by its members; the path of the request decides where two APIs share a form
// (decision 18). It decides the form of our errors then, never which texts are seen.

import { member, present, type JsonObjectNode } from './json/members.js'
import { UnreadableForm } from './json/unreadable-form.js'
import type { LlmApi } from './text/api.js'

/** Bodies that are read in one way. */
export type Family = 'messages' | 'completions' | 'input' | 'gemini'

const REQUEST_MARKS: Readonly<Record<string, Family>> = {
  messages: 'messages',
  system: 'messages',
  suffix: 'completions',
  input: 'input',
  instructions: 'input',
  contents: 'gemini',
  systemInstruction: 'gemini',
  system_instruction: 'gemini',
}

export const REQUEST_TEXTS: readonly string[] = [...Object.keys(REQUEST_MARKS), 'prompt']

/** @throws UnreadableForm for a body of no form, and for one of two. */
export function familyOfRequest(body: JsonObjectNode): Family {
  const families = new Set(
    Object.entries(REQUEST_MARKS).flatMap(([name, family]) =>
      member(body, name) === undefined ? [] : [family],
    ),
  )
  const prompt = member(body, 'prompt')
  if (prompt !== undefined) families.add(familyOfPrompt(prompt.type, families))
  const [family, ...others] = families
  if (family === undefined) throw new UnreadableForm('it is of no form that is known')
  if (others.length > 0) throw new UnreadableForm('it is of two forms at once')
  return family
}

/** An object names a prompt that the server of the Responses API keeps. */
const familyOfPrompt = (type: string, families: ReadonlySet<Family>): Family =>
  type === 'object' || (type === 'null' && families.has('input')) ? 'input' : 'completions'

/** Of requests with messages: what only one of the two APIs has. */
export function apiOfMessages(body: JsonObjectNode, path: string): LlmApi {
  if (['system', 'anthropic_version'].some((name) => present(member(body, name)) !== undefined))
    return 'anthropic-messages'
  return apiOfPath(path) === 'anthropic-messages' ? 'anthropic-messages' : 'openai-chat'
}

/** Of requests with input: a list of strings is to be embedded; a string alone may be for either. */
export function apiOfInput(body: JsonObjectNode, path: string): LlmApi {
  const input = present(member(body, 'input'))
  const [first] = input?.type === 'array' ? input.items : []
  if (first !== undefined) return first.type === 'object' ? 'openai-responses' : 'openai-embeddings'
  const isEmbedding = apiOfPath(path) === 'openai-embeddings' || body.members.has('encoding_format')
  return isEmbedding && input?.type === 'string' ? 'openai-embeddings' : 'openai-responses'
}

const PATHS: readonly (readonly [RegExp, LlmApi])[] = [
  [/\/chat\/completions(?:\/|$)/, 'openai-chat'],
  [/\/completions(?:\/|$)/, 'openai-completions'],
  [/\/responses(?:\/|$)/, 'openai-responses'],
  [/\/embeddings(?:\/|$)/, 'openai-embeddings'],
  [/\/v1\/messages(?:\/|$)/, 'anthropic-messages'],
  [/:(?:streamGenerateContent|generateContent|countTokens)$/, 'gemini'],
]

/** path: with its query. undefined: it tells nothing. */
export function apiOfPath(path: string): LlmApi | undefined {
  const [plain = ''] = path.split('?')
  return PATHS.find(([pattern]) => pattern.test(plain))?.[1]
}
