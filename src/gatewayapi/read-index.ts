// Who read what in the world: from a look-up to those who made it, and so from a change to those whom it concerns.

import type { World } from './world.js'

export type TableName = keyof World

export interface Read {
  readonly table: TableName
  readonly key: string
}

export class ReadIndex<Reader> {
  readonly #tables = new Map<TableName, Map<string, Set<Reader>>>()

  add({ table, key }: Read, reader: Reader): void {
    const readers = this.#tables.get(table) ?? new Map<string, Set<Reader>>()
    this.#tables.set(table, readers)
    const known = readers.get(key)
    if (known === undefined) readers.set(key, new Set([reader]))
    else known.add(reader)
  }

  delete({ table, key }: Read, reader: Reader): void {
    const readers = this.#tables.get(table)
    const known = readers?.get(key)
    known?.delete(reader)
    if (known?.size === 0) readers?.delete(key)
  }

  /** Those who made the look-up. */
  readersOf({ table, key }: Read): readonly Reader[] {
    return [...(this.#tables.get(table)?.get(key) ?? [])]
  }
}
