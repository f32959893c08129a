// What evaluations may spend: steps for their work and bytes for what they make. Nothing of an expression runs
// uncounted, so that no rule holds up the checks of others, whatever it is and whatever the request carries.

import { CelLimitError } from './values.js'

export interface BudgetLimits {
  /** About 100 ns of work each. */
  readonly steps: number
  /** Of the texts, lists and maps that expressions make, whether they keep them or not. */
  readonly bytes: number
}

export const DEFAULT_BUDGET: BudgetLimits = { steps: 50_000, bytes: 4 * 1024 * 1024 }

/** The code of what an evaluation beyond its budget comes to. */
export const BUDGET_EXCEEDED = 'budget_exceeded'

class BudgetError extends CelLimitError {
  override readonly code = BUDGET_EXCEEDED
}

/** One for all: unwinding must not cost what a stack trace costs. */
const SPENT = new BudgetError('more steps or bytes than the budget has')

/** One for all rules of a check, or all header expressions of a webhook call. Once spent, it stays so. */
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

/** Evaluations are synchronous and do not nest: there is one at a time. */
let active: Budget | undefined

/** Runs what charge() counts against budget. */
export function spending<T>(budget: Budget, evaluate: () => T): T {
  active = budget
  try {
    return evaluate()
  } finally {
    active = undefined
  }
}

/** @throws when that is more than the budget of this evaluation has left. */
export function charge(steps: number, bytes = 0): void {
  if (active === undefined) return
  active.steps -= steps
  active.bytes -= bytes
  if (active.steps < 0 || active.bytes < 0) throw SPENT
}

export const isBudgetSpent = (): boolean => active?.isSpent ?? false
