// Creates the metrics of the main process, and the budget of bodies that they read.

import { createMetrics, type Metrics } from '../../admin/metrics.js'
import { createHeldBytes } from '../../extproc/stream/held-bytes.js'
import type { Settings } from '../../settings.js'
import { defaultHeldBytes } from './held-bytes-default.js'
import { startIdleCollection } from './idle-collection.js'

/** Creates the metrics and the budget, and starts to collect garbage when idle. */
export function createMeasures({ heldBytes: given }: Settings) {
  const budget = given ?? defaultHeldBytes()
  const heldBytes = createHeldBytes(budget, undefined, () => metrics.budgetReached('held-bytes'))
  const metrics: Metrics = createMetrics(() => heldBytes.held(), budget)
  return { heldBytes, metrics, stopCollecting: startIdleCollection(() => heldBytes.held()) }
}
