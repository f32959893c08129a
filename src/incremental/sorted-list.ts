// Sorted lists that persist between revisions: changed values are merged into the previous list, and the same values
// return the same list.

import { commonEnds, type Differences, differences } from './diff.js'

export type SortedList<Value> = (values: readonly Value[]) => readonly Value[]

type Compare<Value> = (a: Value, b: Value) => number

export function createSortedList<Value>(compare: Compare<Value>): SortedList<Value> {
  let past: readonly Value[] = []
  let list: readonly Value[] = []
  return (values) => {
    const changes = differences(past, values)
    const count = changes.removed.length + changes.added.length
    if (count > values.length / MANY) list = values.toSorted(compare)
    else if (count > 0) list = patched(list, changes, compare)
    past = values
    return list
  }
}

/** If more than one in this many values changes, sorting anew is faster. */
const MANY = 8

/** Creates a list sorted by name without duplicates; values of the same name are equal. */
export function createNamedList<Value>(nameOf: (value: Value) => string): SortedList<Value> {
  const sorted = createSortedList<Value>((a, b) => compareText(nameOf(a), nameOf(b)))
  let all: readonly Value[] = []
  let list: readonly Value[] = []
  return (values) => {
    const now = sorted(values)
    if (now !== all) list = list === all && isUnique(all, now, nameOf) ? now : unique(now, nameOf)
    all = now
    return list
  }
}

/** Whether the names in now are unique. before: a list with unique names, so only differences are checked. */
function isUnique<Value>(
  before: readonly Value[],
  now: readonly Value[],
  nameOf: (value: Value) => string,
): boolean {
  const { start, end } = commonEnds(before, now)
  const last = Math.min(now.length - end, now.length - 1)
  for (let index = Math.max(start, 1); index <= last; index += 1) {
    const [a, b] = [now[index - 1], now[index]]
    if (a !== undefined && b !== undefined && nameOf(a) === nameOf(b)) return false
  }
  return true
}

/**
 * Applies changes to a sorted list of unique values; returns the list itself if there are none. Few changes are merged
 * in, which throws if a value to remove is missing.
 */
export function patchSorted<Value>(
  list: readonly Value[],
  changes: Differences<Value>,
  compare: Compare<Value>,
): readonly Value[] {
  const { removed, added } = changes
  const count = removed.length + added.length
  if (count === 0) return list
  if (count <= list.length / MANY) return patched(list, changes, compare)
  const gone = new Set(removed)
  return [...list.filter((value) => !gone.has(value)), ...added].sort(compare)
}

function patched<Value>(
  list: readonly Value[],
  { removed, added }: Differences<Value>,
  compare: Compare<Value>,
): readonly Value[] {
  const copy = list.slice()
  for (const value of removed) {
    const index = copy.indexOf(value, placeOf(copy, value, compare))
    if (index === -1) throw new Error('a sorted list has lost one of its values')
    copy.splice(index, 1)
  }
  for (const value of added) copy.splice(placeOf(copy, value, compare), 0, value)
  return copy
}

/** Returns the index of the first value that is not before the given one. */
function placeOf<Value>(list: readonly Value[], value: Value, compare: Compare<Value>): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const found = list[middle]
    if (found !== undefined && compare(found, value) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Removes duplicates of a name; returns the list itself if it has none. */
function unique<Value>(
  sorted: readonly Value[],
  nameOf: (value: Value) => string,
): readonly Value[] {
  const found = sorted.filter((value, index) => {
    const before = sorted[index - 1]
    return before === undefined || nameOf(before) !== nameOf(value)
  })
  return found.length === sorted.length ? sorted : found
}

/** Compares by code units, independent of the machine's locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
