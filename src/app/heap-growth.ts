// How many resources there are → how much garbage V8 may let stand beside them.

import { setFlagsFromString } from 'node:v8'

const MANY = 2_000
/** Of what is in use. */
const LITTLE = 80
/** V8's own choice, two or three times what is in use: it makes the checks of a small configuration cheaper. */
const FREE = 0

/** Little until the first resources are counted. V8 reads the flag at each full collection. */
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
