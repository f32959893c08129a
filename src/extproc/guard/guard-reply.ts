// Replies sent in place of the LLM's: a webhook's reject, or an error of the guard (decisions 15, 17 and 18).

import { apiError } from '../llm/api-error.js'
import type { LlmApi } from '../llm/text/api.js'
import { jsonReply, type Reply } from '../session/immediate-response.js'
import type { Reject } from '../webhook/ask-webhooks.js'
import { asciiReason } from '../webhook/verdict-reason.js'

/**
 * Returns the webhook's text unchanged, with the reason in a header. Without text, the reason becomes an error in the
 * format of the client's API.
 */
export function rejectReply(api: LlmApi, { status, text, reason }: Reject): Reply {
  if (text === '' && reason !== undefined && status >= 400) {
    const error = { status, message: reason, code: 'content_filter', reason }
    return jsonReply(status, apiError(api, error), REJECTED, NOSNIFF)
  }
  const hasText = !WITHOUT_CONTENT.has(status)
  return {
    status,
    headers: {
      ...(hasText && { 'content-type': 'text/plain; charset=utf-8' }),
      'cache-control': 'no-store',
      ...NOSNIFF,
      ...(reason !== undefined && { [REASON_HEADER]: asciiReason(reason) }),
    },
    body: new TextEncoder().encode(hasText ? text : ''),
    details: REJECTED,
  }
}

/** The text may be a page or JSON, which an added sentence would break. */
const REASON_HEADER = 'x-gatehouse-reason'

const REJECTED = 'gatehouse_guardrail_reject'

/**
 * Statuses that have no content (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5): a client would read body bytes as the
 * next reply.
 */
const WITHOUT_CONTENT: ReadonlySet<number> = new Set([204, 205, 304])

const NOSNIFF = { 'x-content-type-options': 'nosniff' } as const

/** api: the API that the client speaks. message: a sentence without any text of the prompt or reply. */
export const refusal = (
  api: LlmApi,
  status: 400 | 408 | 413 | 503,
  message: string,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): Reply =>
  jsonReply(status, apiError(api, { status, message, code }), `gatehouse_${code}`, {
    ...NOSNIFF,
    ...headers,
  })

/** Returns the reply when the budget of held bytes is used up. */
export const busy = (api: LlmApi): Reply =>
  refusal(api, 503, 'The guardrail holds as much as it may; try again.', 'guardrail_busy', {
    'retry-after': '5',
  })

/** Returns the reply when a webhook that fails closed has given no verdict. */
export const unavailable = (api: LlmApi): Reply =>
  refusal(api, 503, 'The guardrail is unavailable.', 'guardrail_unavailable')
