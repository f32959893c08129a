// The last event of a stream that we end: an error that the official clients of its API raise.

import type { JsonObject } from '../ir/json.js'
import type { LlmApi } from './api.js'
import { openAiError } from './openai-error.js'

export interface OwnError {
  /** Of HTTP: what the reply would have had, had it not begun. */
  readonly status: number
  /** A sentence without any text of prompt or reply. */
  readonly message: string
  /** In the words of OpenAI's API, e.g. content_filter. */
  readonly code: string
}

/** As server-sent events, with the blank line. api: undefined when the stream ended before it told. */
export function streamError(api: LlmApi | undefined, error: OwnError): string {
  switch (api) {
    case 'anthropic-messages':
      return event(anthropicError(error), 'error')
    case 'gemini':
      return event(geminiError(error))
    case 'openai-responses':
      return event(responsesError(error), 'error')
    default:
      return event(openAiError(error.status, error.message, error.code))
  }
}

/** As the last item of a JSON array, with its end. isFirst: nothing of the array was sent. */
export const arrayError = (error: OwnError, isFirst: boolean): string =>
  `${isFirst ? '[' : ','}${JSON.stringify(geminiError(error))}]\n`

const event = (data: JsonObject, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

/** What the API says at its top level, and what OpenAI's clients look for. */
const responsesError = ({ status, message, code }: OwnError): JsonObject => ({
  type: 'error',
  code,
  message,
  param: null,
  ...openAiError(status, message, code),
})

const anthropicError = ({ status, message }: OwnError): JsonObject => ({
  type: 'error',
  error: { type: status >= 500 ? 'api_error' : 'invalid_request_error', message },
})

/** status: a name of google.rpc.Code. */
const geminiError = ({ status, message }: OwnError): JsonObject => ({
  error: { code: status, message, status: RPC_CODES[status] ?? 'UNKNOWN' },
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
