// What is in use after a full collection, so that neither timing nor uncollected garbage affects the result.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { nextTurn } from '../../../src/kit/turns.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Returns the bytes of the heap and of what belongs to it outside. */
export async function heapUsed(): Promise<number> {
  for (let times = 0; times < 3; times += 1) {
    await nextTurn()
    collect()
  }
  const { heapUsed: heap, external } = process.memoryUsage()
  return heap + external
}
