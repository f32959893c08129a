// Sets V8's --heap-growing-percent from the number of resources: how much garbage the heap may hold.

import { setFlagsFromString } from 'node:v8'

const MANY = 2_000
/** Percent of the heap in use. */
const LITTLE = 80
/** Leaves it to V8, which allows two or three times what is in use: cheaper checks for a small configuration. */
const FREE = 0

/** Starts with LITTLE, until the first resources are counted. V8 reads the flag at each full collection. */
export function createHeapGrowth(): (resources: number) => void {
  let percent: number | undefined
  const set = (wanted: number): void => {
    if (wanted === percent) return
    percent = wanted
    setFlagsFromString(`--heap-growing-percent=${String(wanted)}`)
  }
  set(LITTLE)
  return (resources) => set(resources < MANY ? FREE : LITTLE)
}
