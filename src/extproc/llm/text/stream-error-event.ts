// Determines the API of an error in the middle of a stream.

import { type JsonObjectNode, member, present } from '../../../kit/json/members.js'
import type { LlmApi } from './api.js'

/** Returns the API whose form the error has; undefined: the event is not an error. */
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
  const found = member(root, name)
  return found?.type === 'string' && found.value === 'error'
}
