// What is held of all bodies together, within one budget for the process: bodies that are not complete, and what is made
// of a complete one while webhooks are asked about it.

export interface HeldBytes {
  /** At this moment. */
  held(): number
  /** For one body. */
  open(): Hold
}

export interface Hold {
  /** false: it would be more than the budget; nothing is added. */
  add(bytes: number): boolean
  /** Nothing of it is held any more. */
  release(): void
}

export function createHeldBytes(budget: number): HeldBytes {
  let all = 0
  return {
    held: () => all,
    open: () => {
      let own = 0
      return {
        add: (bytes) => {
          if (all + bytes > budget) return false
          all += bytes
          own += bytes
          return true
        },
        release: () => {
          all -= own
          own = 0
        },
      }
    },
  }
}
