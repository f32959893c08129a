// A count with a limit, of this process alone or shared by several.

/** A count with a limit. */
export interface Tally {
  /** Returns what this process has added. */
  own(): number
  /** Returns what all processes have added. */
  all(): number
  /** Adds an amount. false: the count would exceed max; nothing is added. Negative amounts are always added. */
  add(amount: number, max: number): boolean
}

/** Limits on calls to providers that several processes share. */
export interface SharedLimits {
  /** This process's share of rates, 0 to 1. */
  readonly part: number
  /** Counts of concurrent calls, by what is called. */
  readonly tallyOf: (name: string) => Tally
}

/** Creates a count of this process alone. */
export function createTally(): Tally {
  let all = 0
  return {
    own: () => all,
    all: () => all,
    add(amount, max) {
      if (amount > 0 && all + amount > max) return false
      all += amount
      return true
    },
  }
}
