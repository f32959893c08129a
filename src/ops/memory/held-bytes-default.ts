// Default of --held-bytes, the most that guarded bodies may hold together: a quarter of this process's memory limit.

import { constrainedMemory } from 'node:process'
import { getHeapStatistics } from 'node:v8'

/** Returns the default, in bytes. */
export function defaultHeldBytes(): number {
  // 0 or a number larger than the memory means that the system sets no limit.
  const system = constrainedMemory() || Infinity
  return Math.floor(Math.min(getHeapStatistics().heap_size_limit, system) / 4)
}
