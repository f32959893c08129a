// The budget of gRPC messages that have not arrived whole: as much again as guarded bodies may hold (decision 18a).

import { createHeldBytes, type HeldBytes } from '../../extproc/session/held-bytes.js'
import type { Tally } from '../../extproc/session/tally.js'
import type { Metrics } from '../admin/metrics.js'

/** Room for one message of 32 MiB, the largest, in a buffer of twice its size. */
const LEAST_BYTES = 64 * 1024 * 1024

/** heldBytes: what guarded bodies may hold. tally: shared by all workers; absent: of this process. */
export function createMessageBudget(
  heldBytes: number,
  metrics: Metrics,
  tally?: Tally,
): HeldBytes & { readonly mostOfOne: number } {
  const onFull = (): void => metrics.budgetReached('grpc-messages')
  const budget = createHeldBytes(Math.max(LEAST_BYTES, heldBytes), tally, onFull)
  // One Envoy must not take what all others need.
  return { ...budget, mostOfOne: Math.max(LEAST_BYTES, heldBytes / 2) }
}
