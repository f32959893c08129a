// So many at a time, and no queue: whoever comes when all are taken is told so at once.

export interface Slots {
  /** Gives one back when it is called; undefined: none is free. */
  take(): (() => void) | undefined
}

export const createSlots = (max: number): Slots => {
  let taken = 0
  return {
    take() {
      if (taken >= max) return undefined
      taken += 1
      return () => void (taken -= 1)
    },
  }
}
