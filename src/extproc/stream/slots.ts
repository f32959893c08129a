// Semaphores without a queue, one for each key: whoever comes when all slots of a key are taken is told so at once.

import { createTally, type Tally } from './tally.js'

export interface Slots {
  /** Gives one back when it is called, once; undefined: none of this key is free. */
  take(key: string): (() => void) | undefined
}

/** max: of each key. Keys of which no slot is taken cost nothing. tallyOf: of several processes, where max is of all of them. */
export function createSlots(max: number, tallyOf: (key: string) => Tally = createTally): Slots {
  const taken = new Map<string, { readonly tally: Tally; count: number }>()
  return {
    take(key) {
      const known = taken.get(key) ?? { tally: tallyOf(key), count: 0 }
      if (!known.tally.add(1, max)) return undefined
      known.count += 1
      taken.set(key, known)
      return () => {
        known.tally.add(-1, max)
        known.count -= 1
        if (known.count === 0) taken.delete(key)
      }
    },
  }
}
