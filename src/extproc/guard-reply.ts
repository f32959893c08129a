// What a guard answers in place of the LLM: a webhook's reject, or why it refuses (decisions 15, 17 and 18).

import { apiError } from '../llm/api-error.js'
import type { LlmApi } from '../llm/api.js'
import { jsonReply, type Reply } from './immediate-response.js'

export const rejectReply = (status: number, text: string): Reply => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  body: new TextEncoder().encode(text),
  details: 'gatehouse_guardrail_reject',
})

/** api: what the client speaks. message: a sentence without any text of prompt or reply. */
export const refusal = (
  api: LlmApi,
  status: 400 | 413 | 503,
  message: string,
  code: string,
): Reply => jsonReply(status, apiError(api, { status, message, code }), `gatehouse_${code}`)

export const unavailable = (api: LlmApi): Reply =>
  refusal(api, 503, 'The guardrail is unavailable.', 'guardrail_unavailable')
