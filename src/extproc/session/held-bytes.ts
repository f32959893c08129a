// One byte budget for all bodies together: incomplete ones, complete ones with what is made of them while webhooks are
// asked, and the unsent parts of streamed replies.

import type { Ending } from '../../kit/ending.js'
import { type BodyOwner, createCallerTallies, type Share, sharesOf, takeFrom } from './shares.js'
import { createTally } from './tally.js'

/** The budget of all held bodies. */
export interface HeldBytes {
  /** Returns the bytes that this process holds now. */
  held(): number
  /** Opens the account of one body. */
  open(): Hold
  /** Returns the same budget for audits, and copies of what passes, which leave the second half of it to everything else. */
  readonly forCopies: () => HeldBytes
  /** Returns what the bodies of one exchange may have of the budget. */
  readonly forOwner: (owner: BodyOwner) => HeldBytes
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
export const BUSY = 'bodies hold as much as they may, all together or within a share'

/**
 * tally, callers: shared by several processes if the budget is for all of them. onFull: called for each refusal, except
 * those of audits and copies.
 */
export function createHeldBytes(
  budget: number,
  tally = createTally(),
  onFull = (): void => undefined,
  callers = createCallerTallies(),
): HeldBytes {
  const counting = (shares: () => readonly Share[], onRefused?: () => void): Hold => {
    let own: readonly Share[] | undefined
    return openHold((bytes) => {
      const isTaken = takeFrom((own ??= shares()), bytes)
      if (!isTaken) onRefused?.()
      return isTaken
    })
  }
  const whole = (part: number): readonly Share[] => [
    { all: tally, most: budget * part, together: Infinity },
  ]
  const of = (shares: (part: number) => readonly Share[]): HeldBytes => ({
    held: () => tally.own(),
    open: () => counting(() => shares(1), onFull),
    forCopies: () => ({ ...of(shares), open: () => counting(() => shares(1 / 2)) }),
    forOwner: (owner) => of((part) => sharesOf(owner, { tally, budget, callers }, part)),
  })
  return of(whole)
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
