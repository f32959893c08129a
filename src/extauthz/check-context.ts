// What all steps of a check share: its options, who asks, and what may end it from outside.

import type { BudgetLimits } from '../cel/budget.js'
import type { DecisionLog } from '../decision-log.js'
import type { LogLimit } from '../log-limit.js'
import type { Logger } from '../logger.js'
import type { AuthzTable } from './authz-table.js'
import type { BodyLine } from './body-line.js'
import type { FreshKeysOptions, KeyLookUps } from './fresh-keys.js'

export interface CheckMetrics {
  /** route: NAMESPACE/NAME, "unknown" when no entry was found. reason: a word of decision.ts. */
  observe(route: string, decision: 'allow' | 'deny', reason: string, seconds: number): void
}

export interface CheckOptions extends FreshKeysOptions {
  readonly table: () => Pick<AuthzTable, 'get'>
  /** What the rules of one check may spend together; default DEFAULT_BUDGET. */
  readonly ruleBudget?: BudgetLimits
  readonly logger: Logger
  /** Absent: decisions leave no line. */
  readonly decisions?: DecisionLog
  readonly metrics: CheckMetrics
}

/** What may end a check from outside. */
export interface CheckCall {
  isCancelled(): boolean
  /** Milliseconds since the epoch; Infinity: none. */
  readonly deadline: number
}

export interface CheckContext {
  readonly options: CheckOptions
  /** Of lines that clients cause. */
  readonly limit: LogLimit
  readonly lookUps: KeyLookUps
  /** Of bodies that are read in slices. */
  readonly bodies: BodyLine
}

/** Nobody waits for its answer any more. */
export const isOver = ({ options }: CheckContext, call: CheckCall): boolean =>
  call.isCancelled() || options.now() >= call.deadline
