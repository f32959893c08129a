// Queries that take long for some rows of a table. They are computed in slices before anything asks for them at once.

import type { Work } from '../../../kit/turns.js'
import type { Context } from './context.js'
import type { Read, TableName } from './queries.js'

/** A query about the rows of a table. */
export interface LongQuery {
  readonly table: TableName
  /** Whether the query takes long for this row; must be quick itself. */
  readonly isLong: (context: Context, key: string) => boolean
  /** Asks the query. */
  readonly ask: (context: Context, key: string) => Work<unknown>
}

/** Asks long queries ahead of all others. changed: the look-ups that changed since the last call. */
export type Prepare = (context: Context, changed: readonly Read[]) => Work<void>

/** Knows no row yet. */
export function createPrepare(queries: readonly LongQuery[]): Prepare {
  const all = queries.map((query) => ({ query, keys: new Set<string>() }))
  return function* (context, changed) {
    for (const { table, key } of changed)
      for (const { query, keys } of all) {
        if (query.table !== table) continue
        if (query.isLong(context, key)) keys.add(key)
        else keys.delete(key)
        yield
      }
    for (const { query, keys } of all)
      for (const key of keys) {
        yield* query.ask(context, key)
        yield
      }
  }
}
