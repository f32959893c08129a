// What is held of all bodies together, within one budget for the process: bodies that are not complete, and what is made
// of a complete one while webhooks are asked about it; and of streamed replies what has not left.

export interface HeldBytes {
  /** At this moment. */
  held(): number
  /** For one body. */
  open(): Hold
}

export interface Hold {
  /** false: it would be more than the budget; nothing is added. */
  add(bytes: number): boolean
  /** So much is held by now. false: it would be more than the budget, and what was held stays counted. */
  become(bytes: number): boolean
  /** Nothing of it is held any more. */
  release(): void
}

/** For the log: why something is refused. */
export const BUSY = 'all bodies together hold as much as they may'

export function createHeldBytes(budget: number): HeldBytes {
  let all = 0
  return {
    held: () => all,
    open: () => {
      let own = 0
      const add = (bytes: number): boolean => {
        if (bytes > 0 && all + bytes > budget) return false
        all += bytes
        own += bytes
        return true
      }
      return {
        add,
        become: (bytes) => add(bytes - own),
        release: () => {
          all -= own
          own = 0
        },
      }
    },
  }
}
