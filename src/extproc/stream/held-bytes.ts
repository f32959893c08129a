// What is held of all bodies together, within one budget: bodies that are not complete, and what is made
// of a complete one while webhooks are asked about it; and of streamed replies what has not left.

import { createTally } from './tally.js'

export interface HeldBytes {
  /** At this moment, by this process. */
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

/** tally: of several processes, where the budget is of all of them. */
export function createHeldBytes(budget: number, tally = createTally()): HeldBytes {
  return {
    held: () => tally.own(),
    open: () => {
      let own = 0
      const add = (bytes: number): boolean => {
        if (!tally.add(bytes, budget)) return false
        own += bytes
        return true
      }
      return {
        add,
        become: (bytes) => add(bytes - own),
        release: () => {
          if (own !== 0) tally.add(-own, budget)
          own = 0
        },
      }
    },
  }
}
