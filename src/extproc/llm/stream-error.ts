// Formats the last event of a stream that Gatehouse ends: an error that the API's official clients raise.

import type { JsonObject } from '../../model/json.js'
import {
  anthropicError,
  apiError,
  geminiError,
  ollamaError,
  openAiError,
  type OwnError,
} from './api-error.js'
import type { LlmApi } from './text/api.js'

/** Formats a server-sent event, with its blank line. api: undefined if the stream ended before it was known. */
export function streamError(api: LlmApi | undefined, error: OwnError): string {
  switch (api) {
    case 'anthropic-messages':
      return event(anthropicError(error), 'error')
    case 'gemini':
      return event(geminiError(error))
    case 'openai-responses':
      return event(responsesError(error), 'error')
    case 'cohere':
      return event(cohereEnd(error), 'message-end')
    case 'mistral-conversations':
      return event(conversationError(error), CONVERSATION_ERROR)
    case 'gemini-interactions':
      return event({ event_type: 'error', ...geminiError(error) }, 'error')
    case 'openai-threads':
      return event(openAiError(error), 'error')
    case 'ai-sdk':
      return event({ type: 'error', errorText: error.message })
    case 'ag-ui':
      return event({ type: 'RUN_ERROR', message: error.message, code: error.code })
    default:
      return event(openAiError(error))
  }
}

const CONVERSATION_ERROR = 'conversation.response.error'

const conversationError = ({ status, message }: OwnError): JsonObject => ({
  type: CONVERSATION_ERROR,
  message,
  code: status,
})

/** Formats what takes the place of a JSON document. api: as in streamError. */
export const documentError = (api: LlmApi | undefined, error: OwnError): string =>
  `${JSON.stringify(apiError(api ?? 'openai-chat', error))}\n`

/** Formats the last line of a stream of lines, which only Ollama has. */
export const lineError = (error: OwnError): string => `${JSON.stringify(ollamaError(error))}\n`

/** Cohere's streams have no event for an error: the last one says why the message ended. */
const cohereEnd = ({ message }: OwnError): JsonObject => ({
  type: 'message-end',
  delta: { finish_reason: 'ERROR', error: message },
})

/** Formats the last item of a JSON array, with the array's end. isFirst: nothing of the array was sent yet. */
export const arrayError = (error: OwnError, isFirst: boolean): string =>
  `${isFirst ? '[' : ','}${JSON.stringify(geminiError(error))}]\n`

const event = (data: JsonObject, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

/** Combines what the API has at its top level with what OpenAI's clients look for. */
const responsesError = (error: OwnError): JsonObject => ({
  type: 'error',
  code: error.code,
  message: error.message,
  param: null,
  ...openAiError(error),
})
