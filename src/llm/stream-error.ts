// The last event of a stream that we end: an error that the official clients of its API raise.

import type { JsonObject } from '../ir/json.js'
import { anthropicError, geminiError, openAiError, type OwnError } from './api-error.js'
import type { LlmApi } from './text/api.js'

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
      return event(openAiError(error))
  }
}

/** As the last item of a JSON array, with its end. isFirst: nothing of the array was sent. */
export const arrayError = (error: OwnError, isFirst: boolean): string =>
  `${isFirst ? '[' : ','}${JSON.stringify(geminiError(error))}]\n`

const event = (data: JsonObject, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

/** What the API says at its top level, and what OpenAI's clients look for. */
const responsesError = (error: OwnError): JsonObject => ({
  type: 'error',
  code: error.code,
  message: error.message,
  param: null,
  ...openAiError(error),
})
