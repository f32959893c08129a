// Sets V8's --heap-growing-percent from the number of resources: how much garbage the heap may hold. The start is different:
// nearly all that is made then stays in use.

import { setFlagsFromString } from 'node:v8'
import { collectInSteps } from './stepwise-collection.js'
import { allocateYoung } from './young-allocation.js'

const MANY = 2_000
/** Percent of the heap in use. */
const GROWTH_WITH_MANY = 80
/**
 * What V8 allows a busy process. After a pause it would allow 30 % until the heap has grown by much: one to three full
 * collections in a second of guarded chats.
 */
const GROWTH_WITH_FEW = 150
/** Collections would free little. */
const GROWTH_AT_START = 900

/**
 * Starts with GROWTH_AT_START. The first count of resources ends the start: from then on all objects are made in the young
 * generation, too. V8 reads the flag at each full collection.
 */
export function createHeapGrowth(): (resources: number) => void {
  let percent = GROWTH_AT_START
  const set = (wanted: number): void => {
    percent = wanted
    setFlagsFromString(`--heap-growing-percent=${String(wanted)}`)
  }
  set(GROWTH_AT_START)
  return (resources) => {
    const wanted = resources < MANY ? GROWTH_WITH_FEW : GROWTH_WITH_MANY
    if (wanted === percent) return
    const isStart = percent === GROWTH_AT_START
    set(wanted)
    if (!isStart) return
    allocateYoung()
    void collectInSteps()
  }
}
