// The interface of the metrics that guards update.

import type { Phase } from '../../model/proc-entry.js'
import type { Usage } from '../llm/text/usage.js'
import type { NoVerdictReason } from './no-verdict.js'

/** The outcome of a call of a webhook. */
export type Outcome = 'allow' | 'modify' | 'reject' | 'fail-open' | 'fail-closed'

/** Labels of the metrics of one call. */
export interface VerdictLabels {
  readonly webhook: string
  readonly phase: Phase
  readonly outcome: Outcome
  /** Absent: there was a verdict. */
  readonly reason?: NoVerdictReason
  readonly mode?: 'audit'
}

/** The metrics that guards update. */
export interface GuardMetrics {
  /** Updates gatehouse_guardrail_verdicts_total and gatehouse_guardrail_webhook_duration_seconds. */
  verdict(labels: VerdictLabels, seconds: number): void
  /** Increments gatehouse_guardrail_header_budget_exceeded_total. */
  headerBudgetExceeded?(webhook: string): void
  /** Updates gatehouse_llm_tokens_total. */
  tokens?(route: string, usage: Usage): void
}
