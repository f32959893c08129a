// What all routes give, as one list without duplicates, sorted by name. A change that adds and removes no name is put into
// the list of the round before; the same values give the same list.

import { compareText } from './world.js'

export type SortedList<Value> = (values: readonly Value[]) => readonly Value[]

interface Past<Value> {
  readonly values: readonly Value[]
  readonly list: readonly Value[]
}

/** Values of the same name are equal: the first of them is kept. */
export function createSortedList<Value>(nameOf: (value: Value) => string): SortedList<Value> {
  let past: Past<Value> = { values: [], list: [] }
  return (values) => {
    const changes = changesOf(past.values, values, nameOf)
    if (changes?.size !== 0) past = { values, list: listOf(past.list, values, changes, nameOf) }
    return past.list
  }
}

/** Name → the new value, of those that are other objects now; undefined: the names are not the same in all places. */
function changesOf<Value>(
  before: readonly Value[],
  now: readonly Value[],
  nameOf: (value: Value) => string,
): ReadonlyMap<string, Value> | undefined {
  if (before.length !== now.length) return undefined
  const changes = new Map<string, Value>()
  for (const [index, value] of now.entries()) {
    const old = before[index]
    if (old === value) continue
    const name = nameOf(value)
    if (old === undefined || nameOf(old) !== name) return undefined
    if (!changes.has(name)) changes.set(name, value)
  }
  return changes
}

function listOf<Value>(
  before: readonly Value[],
  values: readonly Value[],
  changes: ReadonlyMap<string, Value> | undefined,
  nameOf: (value: Value) => string,
): readonly Value[] {
  if (changes !== undefined) return before.map((value) => changes.get(nameOf(value)) ?? value)
  const byName = new Map<string, Value>()
  for (const value of values) if (!byName.has(nameOf(value))) byName.set(nameOf(value), value)
  return [...byName].sort(([a], [b]) => compareText(a, b)).map(([, value]) => value)
}
