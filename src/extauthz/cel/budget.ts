// Limits what evaluations may spend: steps for their work, and bytes for what they make. Everything in an expression is
// counted, so no rule can hold up other checks, whatever the rule or the request is.

import { CelLimitError } from './values.js'

/** What evaluations may spend together. */
export interface BudgetLimits {
  /** About 100 ns of work each. */
  readonly steps: number
  /** Bytes of the texts, lists and maps that expressions make, even if they do not keep them. */
  readonly bytes: number
}

/** Default of --rule-steps and --rule-bytes. */
export const DEFAULT_BUDGET: BudgetLimits = { steps: 50_000, bytes: 4 * 1024 * 1024 }

/** Error code of an evaluation that exceeds its budget. */
export const BUDGET_EXCEEDED = 'budget_exceeded'

class BudgetError extends CelLimitError {
  override readonly code = BUDGET_EXCEEDED
}

/** Shared, so that unwinding does not cost a stack trace. */
const SPENT = new BudgetError('more steps or bytes than the budget has')

/** Shared by all rules of a check, or by all header expressions of a webhook call. Stays spent once it is. */
export class Budget {
  steps: number
  bytes: number

  constructor({ steps, bytes }: BudgetLimits = DEFAULT_BUDGET) {
    this.steps = steps
    this.bytes = bytes
  }

  get isSpent(): boolean {
    return this.steps < 0 || this.bytes < 0
  }
}

/** Budget of the current evaluation: evaluations are synchronous and do not nest. */
let active: Budget | undefined

/** Runs evaluate, with charge() deducting from budget. */
export function spending<T>(budget: Budget, evaluate: () => T): T {
  active = budget
  try {
    return evaluate()
  } finally {
    active = undefined
  }
}

/** Deducts from the budget of the current evaluation. @throws when too little is left. */
export function charge(steps: number, bytes = 0): void {
  if (active === undefined) return
  active.steps -= steps
  active.bytes -= bytes
  if (active.steps < 0 || active.bytes < 0) throw SPENT
}

/** Whether the budget of the current evaluation is spent. */
export const isBudgetSpent = (): boolean => active?.isSpent ?? false
