// How many resources there are → how much garbage V8 may let stand beside them.

import { setFlagsFromString } from 'node:v8'

const MANY = 2_000
/** Of what is in use. V8's own choice is two or three times that, and suits the requests of a small configuration. */
const GROWTH_PERCENT = 80

/** V8 reads the flag at each full collection, so that it counts from the next one on. */
export function createHeapGrowth(): (resources: number) => void {
  let isBounded = false
  return (resources) => {
    if (resources < MANY || isBounded) return
    isBounded = true
    setFlagsFromString(`--heap-growing-percent=${String(GROWTH_PERCENT)}`)
  }
}
