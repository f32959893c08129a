// An error of ours in the form that OpenAI's clients read.

import type { JsonObject } from '../ir/json.js'

/** message: a sentence without any text of prompt or reply. */
export const openAiError = (status: number, message: string, code: string): JsonObject => ({
  error: {
    message,
    type: status >= 500 ? 'server_error' : 'invalid_request_error',
    param: null,
    code,
  },
})
