// Semaphores without a queue, one per key: take() returns undefined when all slots of the key are taken.

import { createTally, type Tally } from './tally.js'

/** Semaphores by key. */
export interface Slots {
  /** Takes a slot. Returns a function that releases it, to be called once; undefined: no slot of this key is free. */
  take(key: string): (() => void) | undefined
}

/**
 * max: slots of each key. Keys without a taken slot use no memory. tallyOf: shared by several processes if max is for
 * all of them. onFull: called for each refusal.
 */
export function createSlots(
  max: number,
  tallyOf: (key: string) => Tally = createTally,
  onFull = (): void => undefined,
): Slots {
  const taken = new Map<string, { readonly tally: Tally; count: number }>()
  return {
    take(key) {
      const known = taken.get(key) ?? { tally: tallyOf(key), count: 0 }
      if (!known.tally.add(1, max)) {
        onFull()
        return undefined
      }
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
