// Small set: a set of objects that needs no memory of its own while it has at most one. Most results of queries have one
// user, and most look-ups one reader, and there are a dozen of each for every route.

/** None, the only element, or a Set of several. Elements are objects other than Sets. Change it through withElement(). */
export type SmallSet<Element extends object> = Element | Set<Element> | undefined

/** Returns the set with the element. A Set is changed in place. */
export function withElement<Element extends object>(
  set: SmallSet<Element>,
  element: Element,
): SmallSet<Element> {
  if (set instanceof Set) return set.add(element)
  return set === undefined || set === element ? element : new Set([set, element])
}

/** Returns the set without the element. A Set is changed in place, and stays one until it is empty. */
export function withoutElement<Element extends object>(
  set: SmallSet<Element>,
  element: Element,
): SmallSet<Element> {
  if (!(set instanceof Set)) return set === element ? undefined : set
  set.delete(element)
  return set.size === 0 ? undefined : set
}

/** Returns the elements, in a list of their own, in the order in which they came. */
export function listOfSet<Element extends object>(set: SmallSet<Element>): readonly Element[] {
  if (set instanceof Set) return [...set]
  return set === undefined ? [] : [set]
}
