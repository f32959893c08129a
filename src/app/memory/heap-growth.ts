// Sets V8's --heap-growing-percent from the number of resources: how much garbage the heap may hold.

import { setFlagsFromString } from 'node:v8'
import { collectInSteps } from './stepwise-collection.js'

const MANY = 2_000
/** Percent of the heap in use. */
const LITTLE = 80
/** Leaves it to V8, which allows two or three times what is in use: cheaper checks for a small configuration. */
const FREE = 0
/** Nearly all that is made until the first publication stays in use, so collections would free little. */
const START = 900

/** Starts with START, until the first resources are counted. V8 reads the flag at each full collection. */
export function createHeapGrowth(): (resources: number) => void {
  let percent = START
  const set = (wanted: number): void => {
    percent = wanted
    setFlagsFromString(`--heap-growing-percent=${String(wanted)}`)
  }
  set(START)
  return (resources) => {
    const wanted = resources < MANY ? FREE : LITTLE
    if (wanted === percent) return
    const isStart = percent === START
    set(wanted)
    if (isStart) void collectInSteps()
  }
}
