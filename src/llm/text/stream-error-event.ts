// An LLM's own error in the middle of a stream: it passes as it is, but for what it quotes of the model.

import type { LlmApi } from './api.js'
import { member, present, type JsonObjectNode } from '../json/members.js'
import {
  isNoLabel,
  sweep,
  sweepRest,
  whole,
  type Picks,
  type Said,
  type SaidText,
} from './stream-said.js'

/** Members of an error that say what went wrong, in the server's words. */
const ERROR_MEMBERS: ReadonlySet<string> = new Set([
  '@type',
  'code',
  'detail',
  'domain',
  'error',
  'error_type',
  'message',
  'param',
  'reason',
])

const isQuote: Picks = (name) => isNoLabel(name) && !ERROR_MEMBERS.has(name)

/** The API whose form the error has; undefined: the event is none. */
export function apiOfError(root: JsonObjectNode): LlmApi | undefined {
  const error = present(member(root, 'error'))
  const isTyped = isError(root, 'type')
  if (isTyped && (error === undefined || root.members.has('sequence_number')))
    return 'openai-responses'
  if (isTyped) return 'anthropic-messages'
  if (error === undefined) return isError(root, 'object') ? 'openai-chat' : undefined
  const isGemini = error.type === 'object' && member(error, 'status')?.type === 'string'
  return isGemini ? 'gemini' : 'openai-chat'
}

function isError(root: JsonObjectNode, name: 'type' | 'object'): boolean {
  const said = member(root, name)
  return said?.type === 'string' && said.value === 'error'
}

/** root: nothing but an error. */
export const readErrorEvent = (root: JsonObjectNode): Said => whole(sweep(root, '', isQuote))

/** What an error beside texts quotes. */
export function errorTexts(root: JsonObjectNode): readonly SaidText[] {
  const error = present(member(root, 'error'))
  if (error?.type !== 'object') return []
  return sweepRest(error, 'error', new Set(), isQuote)
}
