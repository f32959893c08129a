// Counts what was refused, shortened or dropped because a budget of this process was used up.

import { Counter, type Registry } from 'prom-client'

/** The budgets that are counted, by their label in the metrics. */
export const BUDGETS = [
  'held-bytes',
  'grpc-messages',
  'webhook-queue',
  'rule-work',
  'mcp-bodies',
  'provider-calls',
  'connections',
  'models',
  'export-queue',
] as const

/** A limit that all requests, or all of one route or server, share. */
export type CountedBudget = (typeof BUDGETS)[number]

/** Counts that a budget was used up. times: 1 if absent. */
export type BudgetReached = (budget: CountedBudget, times?: number) => void

/** Reasons of denied checks that say that a budget was used up. */
const BY_CHECK: Readonly<Record<string, CountedBudget>> = {
  'rule-budget': 'rule-work',
  'too-many-bodies': 'mcp-bodies',
}

/** Reasons of calls without a verdict that say so. */
const BY_CALL: Readonly<Record<string, CountedBudget>> = {
  busy: 'webhook-queue',
  'no-connection': 'webhook-queue',
}

/** The counter of budgets that were used up. */
export interface BudgetCounts {
  readonly reached: BudgetReached
  /** Counts denied checks by their reason. */
  checks(reason: string, count: number): void
  /** Counts a call of a webhook by the reason why it has no verdict. */
  call(reason: string | undefined): void
  /**
   * Registers the counter. Reading the checks adds to it, and its series exist from the start, so that the values are
   * current when they are printed.
   */
  register(registry: Registry): void
}

/** Every budget has a series from the start, so that an increase shows the first time too. */
export function createBudgetCounts(): BudgetCounts {
  const counter = new Counter({
    name: 'gatehouse_budget_reached_total',
    help: 'Times that a budget was used up and something was refused, shortened or dropped for it.',
    labelNames: ['budget'] as const,
    registers: [],
  })
  for (const budget of BUDGETS) counter.inc({ budget }, 0)
  const reached: BudgetReached = (budget, times = 1) => counter.inc({ budget }, times)
  return {
    reached,
    checks: (reason, count) => {
      const budget = BY_CHECK[reason]
      if (budget !== undefined) reached(budget, count)
    },
    call: (reason) => {
      const budget = BY_CALL[reason ?? '']
      if (budget !== undefined) reached(budget)
    },
    register: (registry) => registry.registerMetric(counter),
  }
}
