/**
 * Returns the index of the first item for which this holds, by bisection; the number of items if it holds for none.
 * holds: false for all items up to some place, true for all behind it.
 */
export function firstWhere<Item>(items: readonly Item[], holds: (item: Item) => boolean): number {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const item = items[middle]
    if (item !== undefined && holds(item)) high = middle
    else low = middle + 1
  }
  return low
}
