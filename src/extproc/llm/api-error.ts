// Formats an error of Gatehouse as the clients of an API expect it (decision 17).

import type { JsonObject } from '../../model/json.js'
import type { LlmApi } from './text/api.js'

/** An error of Gatehouse for a client. */
export interface OwnError {
  /** HTTP status. */
  readonly status: number
  /** A sentence without any text of the prompt or reply. */
  readonly message: string
  /** Code in the terms of OpenAI's API, e.g. content_filter; the other forms have no place for it. */
  readonly code: string
  /** Reason that a webhook gave; an additional member in every form. */
  readonly reason?: string
}

/** Returns the body of a reply. */
export function apiError(api: LlmApi, error: OwnError): JsonObject {
  switch (api) {
    case 'anthropic-messages':
      return anthropicError(error)
    case 'gemini':
    case 'gemini-interactions':
      return geminiError(error)
    case 'ollama':
      return ollamaError(error)
    case 'cohere':
    case 'bedrock-converse':
      return { message: error.message, ...openAiError(error) }
    default:
      return openAiError(error)
  }
}

/** Its clients show the member as it is. */
export const ollamaError = ({ message, reason }: OwnError): JsonObject => ({
  error: message,
  ...(reason !== undefined && { reason }),
})

/** Returns the error as a body of OpenAI's API. */
export const openAiError = ({ status, message, code, reason }: OwnError): JsonObject => ({
  error: {
    message,
    type: status >= 500 ? 'server_error' : 'invalid_request_error',
    param: null,
    code,
    ...(reason !== undefined && { reason }),
  },
})

/** Returns the error as a body of Anthropic's API. */
export const anthropicError = ({ status, message, reason }: OwnError): JsonObject => ({
  type: 'error',
  error: { type: anthropicType(status), message, ...(reason !== undefined && { reason }) },
})

function anthropicType(status: number): string {
  if (status === 413) return 'request_too_large'
  return status >= 500 ? 'api_error' : 'invalid_request_error'
}

/** Uses a name of google.rpc.Code as status. */
export const geminiError = ({ status, message, reason }: OwnError): JsonObject => ({
  error: {
    code: status,
    message,
    status: RPC_CODES[status] ?? 'UNKNOWN',
    ...(reason !== undefined && { reason }),
  },
})

const RPC_CODES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}
