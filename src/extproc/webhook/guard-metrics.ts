// The interface of the metrics that guards update.

import type { Phase } from '../../ir/proc-entry.js'
import type { Usage } from '../../llm/text/usage.js'
import type { NoVerdictReason } from './no-verdict.js'

export type Outcome = 'allow' | 'modify' | 'reject' | 'fail-open' | 'fail-closed'

export interface VerdictLabels {
  readonly webhook: string
  readonly phase: Phase
  readonly outcome: Outcome
  /** Absent: there was a verdict. */
  readonly reason?: NoVerdictReason
  readonly mode?: 'audit'
}

export interface GuardMetrics {
  /** Updates gatehouse_guardrail_verdicts_total and gatehouse_guardrail_webhook_duration_seconds. */
  verdict(labels: VerdictLabels, seconds: number): void
  /** Increments gatehouse_guardrail_header_budget_exceeded_total. */
  headerBudgetExceeded?(webhook: string): void
  /** Updates gatehouse_llm_tokens_total. */
  tokens?(route: string, usage: Usage): void
}
