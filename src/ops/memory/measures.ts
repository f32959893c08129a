// Creates the metrics of the main process, and the budgets that they count.

import { createHeldBytes } from '../../extproc/session/held-bytes.js'
import { createMetrics, type Metrics } from '../admin/metrics.js'
import type { Settings } from '../settings/settings.js'
import { defaultHeldBytes } from './held-bytes-default.js'
import { createMessageBudget } from './message-budget.js'

/** Creates the metrics and the budgets. */
export function createMeasures({ heldBytes: given }: Settings) {
  const budget = given ?? defaultHeldBytes()
  const heldBytes = createHeldBytes(budget, undefined, () => metrics.budgetReached('held-bytes'))
  const metrics: Metrics = createMetrics(() => heldBytes.held(), budget)
  return {
    heldBytes,
    metrics,
    messages: createMessageBudget(budget, metrics),
    /** Counts a connection that was one too many. */
    onRefused: (): void => metrics.budgetReached('connections'),
  }
}
