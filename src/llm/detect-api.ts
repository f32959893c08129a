// Determines the API of a body by its members, and by the request's path where two APIs share a form (decision 18).
// There the path decides only the form of Gatehouse's errors, never which texts are seen.

import { type JsonObjectNode, member, present } from '../json/members.js'
import { UnreadableForm } from '../json/unreadable-form.js'
import type { Family } from './apis/requests.js'
import type { LlmApi } from './text/api.js'

const REQUEST_MARKS: readonly (readonly [member: string, Family])[] = [
  ['messages', 'messages'],
  ['system', 'messages'],
  ['suffix', 'completions'],
  ['input', 'input'],
  ['instructions', 'input'],
  ['contents', 'gemini'],
  ['systemInstruction', 'gemini'],
  ['system_instruction', 'gemini'],
]

/** path: the request's, with its query. @throws UnreadableForm for a body of no known form, or of two. */
export function familyOfRequest(body: JsonObjectNode, path: string): Family {
  const families = new Set<Family>()
  for (const [name, family] of REQUEST_MARKS)
    if (member(body, name) !== undefined) families.add(family)
  const prompt = member(body, 'prompt')
  if (prompt !== undefined) families.add(familyOfPrompt(prompt.type, families))
  const [family, ...others] = families
  if (family === undefined) throw new UnreadableForm('it is of no form that is known')
  if (others.length > 0) throw new UnreadableForm('it is of two forms at once')
  return family === 'input' && isEmbedding(body, path) ? 'embeddings' : family
}

/** An object refers to a prompt that the server of the Responses API stores. */
const familyOfPrompt = (type: string, families: ReadonlySet<Family>): Family =>
  type === 'object' || (type === 'null' && families.has('input')) ? 'input' : 'completions'

/** Whether input is to be embedded: a list of strings is; a lone string may be for either API. */
function isEmbedding(body: JsonObjectNode, path: string): boolean {
  const input = present(member(body, 'input'))
  const hasMore = ['instructions', 'prompt'].some((name) => present(member(body, name)))
  if (input === undefined || hasMore) return false
  const [first] = input.type === 'array' ? input.items : []
  if (first !== undefined) return first.type !== 'object'
  const isMarked = apiOfPath(path) === 'openai-embeddings' || body.members.has('encoding_format')
  return isMarked && input.type === 'string'
}

/** Tells apart the two APIs with messages: by members that only one of them has, else by the path. */
export function apiOfRequest(body: JsonObjectNode, family: Family, path: string): LlmApi {
  switch (family) {
    case 'messages': {
      const has = (name: string): boolean => present(member(body, name)) !== undefined
      const isAnthropic = has('system') || has('anthropic_version')
      return isAnthropic || apiOfPath(path) === 'anthropic-messages'
        ? 'anthropic-messages'
        : 'openai-chat'
    }
    case 'completions':
      return 'openai-completions'
    case 'input':
      return 'openai-responses'
    case 'embeddings':
      return 'openai-embeddings'
    case 'gemini':
      return 'gemini'
  }
}

/** Ends of paths, or parts that a slash follows; the first that fits counts. */
const PATHS: readonly (readonly [part: string, LlmApi])[] = [
  ['/chat/completions', 'openai-chat'],
  ['/completions', 'openai-completions'],
  ['/responses', 'openai-responses'],
  ['/embeddings', 'openai-embeddings'],
  ['/v1/messages', 'anthropic-messages'],
]
const GEMINI = /:(?:streamGenerateContent|generateContent|countTokens)$/

/** path: with its query. undefined: it does not tell the API. */
export function apiOfPath(path: string): LlmApi | undefined {
  const queryAt = path.indexOf('?')
  const plain = queryAt === -1 ? path : path.slice(0, queryAt)
  for (const [part, api] of PATHS)
    if (plain.endsWith(part) || plain.includes(`${part}/`)) return api
  return GEMINI.test(plain) ? 'gemini' : undefined
}
