// Remembers whose expressions cost much, so that their evaluations wait for a turn of the event loop: hundreds of requests
// arrive at once, each may spend a whole budget, which is about 5 ms, and a flood of them must hold up nothing else.

import { TurnLine } from '../../kit/turn-line.js'
import { type Budget, type BudgetLimits, DEFAULT_BUDGET } from './budget.js'

/** Steps of an evaluation, about half a millisecond, from which on the later ones of its owner wait for turns. */
const COSTLY = 5_000

/** The owners of expressions that cost much: an owner is a compiled policy. */
export class CostlyExpressions {
  readonly limits: BudgetLimits
  /** Owners whose expressions have cost much once. A changed policy is compiled anew, to another owner. */
  readonly #costly = new WeakSet()
  /** Apart from all other work in slices, which a flood of costly evaluations must not delay. */
  readonly #line = new TurnLine(() => performance.now())

  constructor(limits: BudgetLimits = DEFAULT_BUDGET) {
    this.limits = limits
  }

  /** Whether evaluations of the owner must wait for a turn. */
  has(owner: object): boolean {
    return this.#costly.has(owner)
  }

  /** Resolves in a later turn of the event loop. Owners have turns one after the other, however many wait for each. */
  turn(owner: object): Promise<void> {
    return this.#line.wait(owner)
  }

  /** Notes what is left of the budget after an evaluation. */
  note(owner: object, budget: Budget): void {
    if (budget.isSpent || this.limits.steps - budget.steps >= COSTLY) this.#costly.add(owner)
  }
}
