// Read-only map of named values in the order of a list. A new version shares unchanged parts with the previous one.

import { commonEnds, differences } from './diff.js'
import { type PersistentMap, persistentMap } from './persistent-map.js'

interface Named {
  readonly name: string
}

class NamedMap<Value extends Named> implements ReadonlyMap<string, Value> {
  readonly list: readonly Value[]
  readonly byName: PersistentMap<Value>

  constructor(list: readonly Value[], byName: PersistentMap<Value>) {
    this.list = list
    this.byName = byName
  }

  get size(): number {
    return this.list.length
  }

  get(name: string): Value | undefined {
    return this.byName.get(name)
  }

  has(name: string): boolean {
    return this.byName.get(name) !== undefined
  }

  *keys(): MapIterator<string> {
    for (const { name } of this.list) yield name
  }

  values(): MapIterator<Value> {
    return this.list.values()
  }

  *entries(): MapIterator<[string, Value]> {
    for (const value of this.list) yield [value.name, value]
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries()
  }

  forEach(callback: (value: Value, name: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const value of this.list) callback(value, value.name, this)
  }
}

/** Creates the map. list: unique names. before: an earlier version, which is returned if the list is the same. */
export function namedMap<Value extends Named>(
  list: readonly Value[],
  before?: ReadonlyMap<string, Value>,
): ReadonlyMap<string, Value> {
  if (!(before instanceof NamedMap))
    return new NamedMap(list, persistentMap(new Map(list.map((value) => [value.name, value]))))
  const known = before as NamedMap<Value>
  const { start } = commonEnds(known.list, list)
  if (start === list.length && start === known.list.length) return known
  const { removed, added } = differences(known.list, list)
  const changes = [
    ...removed.map(({ name }) => [name, undefined] as const),
    ...added.map((value) => [value.name, value] as const),
  ]
  return new NamedMap(list, known.byName.with(changes))
}

/** Returns the values in order; does not copy those of a namedMap(). */
export const listOf = <Value extends Named>(map: ReadonlyMap<string, Value>): readonly Value[] =>
  map instanceof NamedMap ? (map as NamedMap<Value>).list : [...map.values()]
