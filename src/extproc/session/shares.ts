// How the budget of held bodies is shared: clients of which nothing is known have a quarter of it, and each namespace
// leaves at least as much as it has.

import { createTally, type Tally } from './tally.js'

/** Whose bodies are held: those of one request and its reply. */
export interface BodyOwner {
  /** Namespace of its route. */
  readonly namespace: string
  /** Whether no other namespace has a route whose bodies are held, so that all of the budget is for this one. */
  readonly isAlone: boolean
  /** Whether a verified token says whose it is. Asked when its first body is held. */
  readonly isKnown: () => boolean
  /** Bytes that the largest body takes, which may always be held if nothing else is. */
  readonly roomOfOne: number
}

/** Counts by caller and namespace, shared by several processes if the budget is for all of them. */
export interface CallerTallies {
  /** What is held for clients of which nothing is known. */
  readonly unknown: Tally
  ofNamespace(namespace: string): Tally
  unknownOfNamespace(namespace: string): Tally
}

/** A limited count of which each namespace has a part. */
export interface Share {
  readonly all: Tally
  readonly most: number
  /** The part of one namespace; absent: it need not leave anything. */
  readonly own?: Tally
  /** Limit of the part and the whole count together: the part may have as much as remains free. */
  readonly together: number
}

/** Creates the counts of this process alone. Those of a namespace stay, empty, when it is gone. */
export function createCallerTallies(): CallerTallies {
  const ofAll = new Map<string, Tally>()
  const ofUnknown = new Map<string, Tally>()
  const ofOne = (tallies: Map<string, Tally>, namespace: string): Tally => {
    const tally = tallies.get(namespace) ?? createTally()
    tallies.set(namespace, tally)
    return tally
  }
  return {
    unknown: createTally(),
    ofNamespace: (namespace) => ofOne(ofAll, namespace),
    unknownOfNamespace: (namespace) => ofOne(ofUnknown, namespace),
  }
}

/** Returns the shares that an exchange counts in. part: of the budget, which audits have a half of. */
export function sharesOf(
  { namespace, isAlone, isKnown, roomOfOne }: BodyOwner,
  { tally, budget, callers }: { readonly tally: Tally; budget: number; callers: CallerTallies },
  part: number,
): readonly Share[] {
  const share = (all: Tally, own: () => Tally, most: number): Share => ({
    all,
    most: most * part,
    together: Math.max(most, 2 * roomOfOne) * part,
    ...(!isAlone && { own: own() }),
  })
  const whole = share(tally, () => callers.ofNamespace(namespace), budget)
  if (isKnown()) return [whole]
  const ofUnknown = (): Tally => callers.unknownOfNamespace(namespace)
  return [whole, share(callers.unknown, ofUnknown, Math.max(budget / 4, roomOfOne))]
}

/** Adds bytes to all shares, or to none if one has no room for them. Negative ones are always added. */
export function takeFrom(shares: readonly Share[], bytes: number): boolean {
  const full = shares.findIndex((share) => !take(share, bytes))
  for (const share of shares.slice(0, Math.max(full, 0))) take(share, -bytes)
  return full < 0
}

function take({ all, most, own, together }: Share, bytes: number): boolean {
  if (!all.add(bytes, most)) return false
  if (own === undefined || own.add(bytes, together - all.all())) return true
  all.add(-bytes, most)
  return false
}
