// Lines of the decision log about MCP messages that may not pass because a webhook has given no verdict.

import type { Reject, Unavailable } from '../webhook/ask-webhooks.js'
import { logRefusal, type RefusalSubject } from '../webhook/refusal-log.js'
import type { McpExchange } from './mcp-guard.js'
import type { GuardedMessage } from './texts/guarded-message.js'

/** Why a message may not pass. */
export type Withheld = Reject | Unavailable

/** Why a message may not pass when a webhook that fails closed has given no verdict. */
export const WEBHOOK_UNAVAILABLE = 'a webhook is unavailable'

/** Returns what a refusal of this message is about. */
export const subjectOf = (
  { tool }: Pick<GuardedMessage, 'tool'>,
  by: Withheld,
): RefusalSubject => ({
  tool: tool.name,
  ...(by.type === 'unavailable' && { webhook: by.webhook }),
})

/** Logs a message of an event stream that continues without it. A reject has the line of its verdict. */
export function logWithheld(
  { deps, guard, attributes }: McpExchange,
  message: GuardedMessage,
  by: Withheld,
): void {
  if (by.type === 'reject') return
  logRefusal(
    deps,
    { guard, phase: 'response', attributes: attributes() },
    {
      reason: 'guardrail_unavailable',
      problem: WEBHOOK_UNAVAILABLE,
      subject: subjectOf(message, by),
    },
  )
}
