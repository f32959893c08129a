// Multiset difference by identity of two mostly equal lists; order is ignored.

export interface Differences<Element> {
  readonly removed: readonly Element[]
  readonly added: readonly Element[]
}

export function differences<Element>(
  before: readonly Element[],
  now: readonly Element[],
): Differences<Element> {
  const shorter = Math.min(before.length, now.length)
  let start = 0
  while (start < shorter && before[start] === now[start]) start += 1
  let end = 0
  while (end < shorter - start && before[before.length - 1 - end] === now[now.length - 1 - end])
    end += 1
  return unmatched(before.slice(start, before.length - end), now.slice(start, now.length - end))
}

function unmatched<Element>(
  before: readonly Element[],
  now: readonly Element[],
): Differences<Element> {
  const left = new Map<Element, number>()
  const added: Element[] = []
  const removed: Element[] = []
  for (const [index, element] of now.entries())
    if (element !== before[index]) left.set(element, (left.get(element) ?? 0) + 1)
  for (const [index, element] of before.entries()) {
    if (element === now[index]) continue
    const count = left.get(element) ?? 0
    if (count === 0) removed.push(element)
    else left.set(element, count - 1)
  }
  for (const [element, count] of left)
    for (let rest = count; rest > 0; rest -= 1) added.push(element)
  return { removed, added }
}

/** The same objects in the same places. */
export const isSameRow = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, index) => value === b[index])
