// What guarded bodies may hold together where nobody has said it: a quarter of the memory that this process may use.

import { constrainedMemory } from 'node:process'
import { getHeapStatistics } from 'node:v8'

export function defaultHeldBytes(): number {
  // 0, or more than there is: the system sets no limit.
  const system = constrainedMemory() || Infinity
  return Math.floor(Math.min(getHeapStatistics().heap_size_limit, system) / 4)
}
