// A count with a limit: of this process alone, or of several together.

export interface Tally {
  /** What this process has added. */
  own(): number
  /** false: it would be more than max; nothing is added. What is taken off is always taken off. */
  add(amount: number, max: number): boolean
}

/** What providers are asked by several processes together. */
export interface SharedLimits {
  /** Of rates: what this process may use, 0 to 1. */
  readonly part: number
  /** Of calls under way, by what they are to. */
  readonly tallyOf: (name: string) => Tally
}

export function createTally(): Tally {
  let all = 0
  return {
    own: () => all,
    add(amount, max) {
      if (amount > 0 && all + amount > max) return false
      all += amount
      return true
    },
  }
}
