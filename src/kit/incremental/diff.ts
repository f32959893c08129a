// Multiset difference by identity of two mostly equal lists; order is ignored.
//
// Lists are compared with Object.is(), which looks at the references. In lists of several kinds, === also reads each
// object, as NaN differs from itself: among 10,000 objects that is ten times slower.

/** Elements that one of two lists lacks. */
export interface Differences<Element> {
  readonly removed: readonly Element[]
  readonly added: readonly Element[]
}

/** Compares two lists. */
export function differences<Element>(
  before: readonly Element[],
  now: readonly Element[],
): Differences<Element> {
  const { start, end } = commonEnds(before, now)
  return unmatched(before.slice(start, before.length - end), now.slice(start, now.length - end))
}

/** Like differences(), for lists in parts. Parts that are the same list are not looked into. */
export function partDifferences<Element>(
  before: readonly (readonly Element[])[],
  now: readonly (readonly Element[])[],
): Differences<Element> {
  const { removed, added } = differences(before, now)
  return differences(removed.flat(), added.flat())
}

/** An element that one list lacks and the one that the other list has in its place; either may be absent. */
export interface Replacement<Element> {
  readonly before?: Element
  readonly now?: Element
}

/** Pairs what two lists lack of each other in their order: most pairs are a changed element and what it is now. */
export function replacements<Element>(
  before: readonly Element[],
  now: readonly Element[],
): readonly Replacement<Element>[] {
  const { removed, added } = differences(before, now)
  const count = Math.max(removed.length, added.length)
  return Array.from({ length: count }, (_, index) => ({
    ...(index < removed.length && { before: removed[index] }),
    ...(index < added.length && { now: added[index] }),
  }))
}

/** Number of equal elements at both ends of two lists. */
export interface CommonEnds {
  readonly start: number
  readonly end: number
}

/** Counts the elements at the start and at the end of two lists that are the same objects; none counts for both. */
export function commonEnds(before: readonly unknown[], now: readonly unknown[]): CommonEnds {
  if (before === now) return { start: now.length, end: 0 }
  if (now.length < LONG) return compareEnds(before, now)
  const known = compared.get(before)
  if (known?.now.deref() === now) return known.ends
  const ends = compareEnds(before, now)
  compared.set(before, { now: new WeakRef(now), ends })
  return ends
}

/** Number of elements from which on a comparison is remembered. */
const LONG = 256

/**
 * The last comparison of each long list: after a change, several steps compare the same two lists. A WeakRef, as an old
 * list that somebody keeps would otherwise keep all later versions.
 */
const compared = new WeakMap<
  readonly unknown[],
  { readonly now: WeakRef<readonly unknown[]>; readonly ends: CommonEnds }
>()

function compareEnds(before: readonly unknown[], now: readonly unknown[]): CommonEnds {
  const shorter = Math.min(before.length, now.length)
  let start = 0
  while (start < shorter && Object.is(before[start], now[start])) start += 1
  let end = 0
  while (
    end < shorter - start &&
    Object.is(before[before.length - 1 - end], now[now.length - 1 - end])
  )
    end += 1
  return { start, end }
}

function unmatched<Element>(
  before: readonly Element[],
  now: readonly Element[],
): Differences<Element> {
  if (before.length === 0 || now.length === 0) return { removed: before, added: now }
  const left = new Map<Element, number>()
  const added: Element[] = []
  const removed: Element[] = []
  let index = 0
  for (const element of now)
    if (!Object.is(element, before[index++])) left.set(element, (left.get(element) ?? 0) + 1)
  index = 0
  for (const element of before) {
    if (Object.is(element, now[index++])) continue
    const count = left.get(element) ?? 0
    if (count === 0) removed.push(element)
    else left.set(element, count - 1)
  }
  for (const [element, count] of left)
    for (let rest = count; rest > 0; rest -= 1) added.push(element)
  return { removed, added }
}

/** Whether both lists have the same objects in the same order. */
export const isSameRow = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, index) => Object.is(value, b[index]))
