// Sorted lists that persist between revisions: changed values are merged into the previous list, and the same values
// return the same list. Values come in parts, such as the results of chunks, and parts that stay the same list are not
// looked at again.

import type { Work } from '../turns.js'
import { concat } from './chunked-list.js'
import { commonEnds, type Differences, partDifferences } from './diff.js'

/** A list in parts, of which most stay the same objects. */
export type Parts<Value> = readonly (readonly Value[])[]

/** Sorts a list in parts; each call updates the result of the one before. */
export type SortedList<Value> = (parts: Parts<Value>) => Work<readonly Value[]>

type Compare<Value> = (a: Value, b: Value) => number

/** Creates a sorted list without elements. */
export function createSortedList<Value>(compare: Compare<Value>): SortedList<Value> {
  let past: Parts<Value> = []
  let list: readonly Value[] = []
  return function* (parts) {
    const changes = partDifferences(past, parts)
    const count = changes.removed.length + changes.added.length
    if (count > list.length / MANY) list = yield* sorted(concat(parts), compare)
    else if (count > 0) list = yield* merged(list, changes, compare)
    past = parts
    return list
  }
}

/** If more than one in this many values changes, sorting anew is faster. */
const MANY = 8

/** Changes up to which each one moves all values behind it. */
const FEW = 64

/** Creates a list sorted by name without duplicates; values of the same name are equal. */
export function createNamedList<Value>(nameOf: (value: Value) => string): SortedList<Value> {
  const sortAll = createSortedList<Value>((a, b) => compareText(nameOf(a), nameOf(b)))
  let all: readonly Value[] = []
  let list: readonly Value[] = []
  return function* (parts) {
    const now = yield* sortAll(parts)
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
export function* patchSorted<Value>(
  list: readonly Value[],
  changes: Differences<Value>,
  compare: Compare<Value>,
): Work<readonly Value[]> {
  const { removed, added } = changes
  const count = removed.length + added.length
  if (count === 0) return list
  if (count <= list.length / MANY) return yield* merged(list, changes, compare)
  const gone = new Set(removed)
  return yield* sorted([...list.filter((value) => !gone.has(value)), ...added], compare)
}

/** Merges changes in: few are put in their places, for many all values are looked at once. */
function* merged<Value>(
  list: readonly Value[],
  changes: Differences<Value>,
  compare: Compare<Value>,
): Work<readonly Value[]> {
  const { removed, added } = changes
  if (removed.length + added.length <= FEW) return patched(list, changes, compare)
  const counts = new Map<Value, number>()
  for (const value of removed) counts.set(value, (counts.get(value) ?? 0) + 1)
  const left = list.filter((value) => {
    const count = counts.get(value) ?? 0
    if (count > 0) counts.set(value, count - 1)
    return count === 0
  })
  if (left.length !== list.length - removed.length) throw new Error(LOST)
  return yield* mergedRuns(left, yield* sorted(added, compare), compare)
}

const LOST = 'a sorted list has lost one of its values'

/** Values that are sorted, or merged, between two yields. */
const RUN = 1_024

/** Sorts like toSorted(), by merging sorted runs. */
function* sorted<Value>(values: readonly Value[], compare: Compare<Value>): Work<readonly Value[]> {
  let runs: (readonly Value[])[] = []
  for (let from = 0; from < values.length; from += RUN) {
    runs.push(values.slice(from, from + RUN).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: (readonly Value[])[] = []
    for (let index = 0; index < runs.length; index += 2)
      merged.push(yield* mergedRuns(runs[index] ?? [], runs[index + 1] ?? [], compare))
    runs = merged
  }
  return runs[0] ?? []
}

/** Merges two sorted lists; of equal values, those of the first list come first. */
function* mergedRuns<Value>(
  first: readonly Value[],
  second: readonly Value[],
  compare: Compare<Value>,
): Work<readonly Value[]> {
  if (second.length === 0) return first
  const all: Value[] = []
  let [a, b] = [0, 0]
  while (a < first.length && b < second.length) {
    const [one, other] = [first[a] as Value, second[b] as Value]
    if (compare(one, other) <= 0) {
      all.push(one)
      a += 1
    } else {
      all.push(other)
      b += 1
    }
    if (all.length % RUN === 0) yield
  }
  return all.concat(first.slice(a), second.slice(b))
}

function patched<Value>(
  list: readonly Value[],
  { removed, added }: Differences<Value>,
  compare: Compare<Value>,
): readonly Value[] {
  const copy = list.slice()
  for (const value of removed) {
    const index = copy.indexOf(value, placeOf(copy, value, compare))
    if (index === -1) throw new Error(LOST)
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
