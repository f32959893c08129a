// Semaphores without a queue, one for each key: whoever comes when all slots of a key are taken is told so at once.

export interface Slots {
  /** Gives one back when it is called, once; undefined: none of this key is free. */
  take(key: string): (() => void) | undefined
}

/** max: of each key. Keys of which no slot is taken cost nothing. */
export function createSlots(max: number): Slots {
  const taken = new Map<string, number>()
  return {
    take(key) {
      const count = taken.get(key) ?? 0
      if (count >= max) return undefined
      taken.set(key, count + 1)
      return () => {
        const left = (taken.get(key) ?? 0) - 1
        if (left > 0) taken.set(key, left)
        else taken.delete(key)
      }
    },
  }
}
