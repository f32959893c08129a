// What all steps of a check share: its options, its limits, and what can end it early.

import type { DecisionLog } from '../kit/decision-log.js'
import type { LogLimit } from '../kit/log-limit.js'
import type { Logger } from '../kit/logger.js'
import type { ProbeSigns } from '../kit/probe-signs.js'
import type { Tracer } from '../kit/tracing.js'
import type { CompiledEntry } from './authz-table.js'
import type { BodyLine } from './body-line.js'
import type { BudgetLimits } from './cel/budget.js'
import type { CostlyExpressions } from './cel/costly-expressions.js'
import type { CheckSteps } from './steps.js'
import type { FreshKeysOptions, KeyLookUps } from './token/fresh-keys.js'
import type { RememberedToken } from './token/token-memory.js'

/** The metrics that checks update. */
export interface CheckMetrics {
  /** route: NAMESPACE/NAME, or "unknown" when no entry was found. reason: a Reason of decision.ts. */
  observe(route: string, decision: 'allow' | 'deny', reason: string, seconds: number): void
  /** Counts a decision of policies of mode Audit. */
  audited(route: string, decision: 'allow' | 'deny', reason: string): void
}

/** What the check service is created with. */
export interface CheckOptions extends FreshKeysOptions {
  /** isUnfilled: nothing was read yet. gateway: the only Gateway that the caller serves; absent: it may use all entries. */
  readonly table: () => {
    get(key: string, gateway?: string): CompiledEntry | undefined
    readonly isUnfilled?: boolean
  }
  /** Budget that the rules of one check share; default DEFAULT_BUDGET. */
  readonly ruleBudget?: BudgetLimits
  /** Absent: no header makes a request a probe. */
  readonly probes?: ProbeSigns | undefined
  readonly logger: Logger
  /** Whether audits precede the answer, which then has their reason for access logs; default false. */
  readonly auditsFirst?: boolean | undefined
  /** Absent: decisions are not logged. */
  readonly decisions?: DecisionLog
  readonly metrics: CheckMetrics
  /** Absent: checks are not traced. */
  readonly tracer?: Tracer | undefined
}

/** What can end a check early. */
export interface CheckCall {
  isCancelled(): boolean
  /** Milliseconds since the epoch; Infinity: no deadline. */
  readonly deadline: number
  /** Returns all values of a header of the call. Absent: it has none. */
  metadata?(name: string): readonly string[]
}

/** State that all checks of a process share. */
export interface CheckContext {
  readonly options: CheckOptions
  /** Limit for log lines that clients can cause. */
  readonly limit: LogLimit
  readonly lookUps: Pick<KeyLookUps, 'find'>
  /** Queue for bodies that are read in slices. */
  readonly bodies: BodyLine
  /** Entries whose rules cost much. */
  readonly costly: CostlyExpressions
  /** Whether the check is an audit, which reads the entry's part for policies of mode Audit. */
  readonly isAudit: boolean
  /** Whether the headers alone are checked, before the body: all but the rules is decided. */
  readonly isHead?: true
  /** Called with a verified token before the rules are judged, which may take turns. */
  readonly onVerified?: (token: RememberedToken) => void
  readonly steps: CheckSteps
}

/** Whether nobody waits for the answer any more. */
export const isOver = ({ options }: CheckContext, call: CheckCall): boolean =>
  call.isCancelled() || options.now() >= call.deadline
