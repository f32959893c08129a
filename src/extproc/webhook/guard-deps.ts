// What guards need to ask webhooks.

import type { CostlyExpressions } from '../../extauthz/cel/costly-expressions.js'
import type { DecisionLog } from '../../kit/decision-log.js'
import type { WebhookPools } from '../../kit/http/webhook-pools.js'
import type { LogLimit } from '../../kit/log-limit.js'
import type { Logger } from '../../kit/logger.js'
import type { Trace, TraceSpan } from '../../kit/tracing.js'
import type { HeldBytes } from '../session/held-bytes.js'
import type { GuardMetrics } from './guard-metrics.js'

/** What guards need to ask webhooks. */
export interface GuardDeps {
  readonly pools: WebhookPools
  /** --max-body-bytes: limit of requests, of replies, and of a webhook's answer. */
  readonly maxBodyBytes: number
  /** --held-bytes: budget of all bodies together. */
  readonly heldBytes: HeldBytes
  /** Called when a verified token says who the caller is, before a body is held. Absent: nobody needs to know. */
  callerIsKnown?(): void
  /** --body-timeout: milliseconds for the whole body of a request. */
  readonly bodyTimeoutMs: number
  /** --expose-reason: whether clients get the reasons of rejects. */
  readonly exposesReason?: boolean
  /** Header expressions that cost much, and the budget of all those of one call together. */
  readonly costly: CostlyExpressions
  /** Called when that budget is exceeded, which leaves headers out. */
  headerBudgetExceeded?(route: string, webhook: string): void
  readonly metrics: GuardMetrics
  /** Whether the table still has an entry of this key. Absent: it has all. */
  readonly isServed?: (key: string) => boolean
  /** Returns milliseconds, for durations. */
  now(): number
  readonly logger: Logger
  /** Limits lines of the logger that clients can cause. */
  readonly limit: LogLimit
  /** Logs verdicts that change or reject, and refusals. Absent: they are not logged. */
  readonly decisions?: DecisionLog | undefined
  /** The trace of this stream. Absent: nothing is traced. */
  readonly trace?: Trace | undefined
  /** What Envoy sent with its own call, traced or not; for logs. */
  readonly traceparent?: string | undefined
  /** The span of the phase, which calls of webhooks belong to. */
  readonly span?: TraceSpan | undefined
  /** Set if verdicts change nothing. */
  readonly mode?: 'audit'
}
