// Why a streamed reply ends early: the error for the client, and the text for the log.

import type { OwnError } from '../../llm/api-error.js'
import { BUSY } from '../stream/held-bytes.js'
import type { PhaseVerdict, Reject } from '../webhook/ask-webhooks.js'
import type { RefusalSubject } from '../webhook/refusal-log.js'

/** Why a streamed reply ends early. */
export interface StreamRefusal {
  readonly error: OwnError
  /** For the log, without any text of the prompt or reply. */
  readonly problem: string
  readonly subject?: RefusalSubject
}

/** Returns the refusal of a reply that cannot be read. */
export const unreadableStream = (problem: string): StreamRefusal => ({
  error: {
    status: 503,
    message: `The guardrail cannot read the reply: ${problem}.`,
    code: 'guardrail_unreadable',
  },
  problem,
})

/** The refusal when the budget of held bytes is used up. */
export const BUSY_STREAM: StreamRefusal = {
  error: {
    status: 503,
    message: 'The guardrail holds as much as it may; try again.',
    code: 'guardrail_busy',
  },
  problem: BUSY,
}

/** Returns the refusal when a webhook that fails closed has given no verdict. */
export const unavailableStream = (problem: string): StreamRefusal => ({
  error: { status: 503, message: 'The guardrail is unavailable.', code: 'guardrail_unavailable' },
  problem,
})

/** A reject's text reaches the client, as in replies that are not streamed. Without text, its reason does. */
export const streamRefusalOf = (
  decision: Extract<PhaseVerdict, { readonly type: 'reject' | 'unavailable' }>,
): StreamRefusal =>
  decision.type === 'reject'
    ? {
        error: rejectError(decision),
        problem: 'rejected by a webhook',
      }
    : {
        ...unavailableStream('a webhook is unavailable'),
        subject: { webhook: decision.webhook },
      }

const rejectError = ({ status, text, reason }: Reject): OwnError => ({
  ...{ status, message: text === '' ? (reason ?? '') : text, code: 'content_filter' },
  ...(reason !== undefined && { reason }),
})
