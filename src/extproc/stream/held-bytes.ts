// One byte budget for all bodies together: incomplete ones, complete ones with what is made of them while webhooks are
// asked, and the unsent parts of streamed replies.

import type { Ending } from '../../ending.js'
import { createTally } from './tally.js'

/** The budget of all held bodies. */
export interface HeldBytes {
  /** Returns the bytes that this process holds now. */
  held(): number
  /** Opens the account of one body. */
  open(): Hold
  /** Returns the same budget for audits, which leave the second half of it to everything else. */
  readonly forAudits: () => HeldBytes
  /**
   * Returns a quarter of the budget, which clients of which nothing is known share. least: the size of one of their bodies,
   * which the quarter never is below.
   */
  readonly forAnonymous: (least: number) => HeldBytes
}

/** The account of one body. */
export interface Hold {
  /** Adds bytes. false: they would exceed the budget; nothing is added. */
  add(bytes: number): boolean
  /** Sets the total held. false: it would exceed the budget; the previous total stays counted. */
  become(bytes: number): boolean
  /** Releases everything that is held. */
  release(): void
}

/** Opens the account of one body, which the end of its stream releases. */
export function openUntil(ending: Ending, heldBytes: HeldBytes): Hold {
  const hold = heldBytes.open()
  ending.addEventListener('abort', () => hold.release())
  return hold
}

/** Number of copies held of each byte that is read: the byte itself, its text, and what is made of that. */
export const HELD_FOR_EACH = 3

/** Reason of a refusal, for the log. */
export const BUSY = 'all bodies together hold as much as they may'

/**
 * tally, anonymous: shared by several processes if the budget is for all of them. onFull: called for each refusal, except
 * those of audits.
 */
export function createHeldBytes(
  budget: number,
  tally = createTally(),
  onFull = (): void => undefined,
  anonymous = createTally(),
): HeldBytes {
  const take = (bytes: number): boolean => {
    if (tally.add(bytes, budget)) return true
    onFull()
    return false
  }
  const all: HeldBytes = {
    held: () => tally.own(),
    forAudits: () => createHeldBytes(budget / 2, tally),
    forAnonymous: (least) => {
      const most = Math.max(budget / 4, least)
      const takePart = (bytes: number): boolean => {
        if (!anonymous.add(bytes, most)) {
          onFull()
          return false
        }
        if (take(bytes)) return true
        anonymous.add(-bytes, most)
        return false
      }
      return { ...all, open: () => openHold(takePart) }
    },
    open: () => openHold(take),
  }
  return all
}

/** take: adds bytes to the budget unless they would exceed it; negative ones are always taken. */
function openHold(take: (bytes: number) => boolean): Hold {
  let own = 0
  const add = (bytes: number): boolean => {
    if (!take(bytes)) return false
    own += bytes
    return true
  }
  return {
    add,
    become: (bytes) => add(bytes - own),
    release: () => {
      if (own !== 0) take(-own)
      own = 0
    },
  }
}
