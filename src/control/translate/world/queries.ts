// Dependency-tracking memo: a query records what it reads, and its result is dropped when any of that changes. A change
// reruns only the queries that depend on it, directly or indirectly (docs/architecture.md, "The incremental engine").

import {
  listOfSet,
  type SmallSet,
  withElement,
  withoutElement,
} from '../../../kit/incremental/small-set.js'
import { each, type Work } from '../../../kit/turns.js'
import type { World } from './world.js'

/** Name of a table of the world. */
export type TableName = keyof World

/** A look-up in one table of the world. */
export interface Read {
  readonly table: TableName
  readonly key: string
}

/** The result of a look-up in one table of the world. */
export type Row<Name extends TableName> = World[Name] extends { get(key: string): infer Value }
  ? Value
  : never

/**
 * The body of a query. previous: the result of the same query before a change dropped it. It may only be used to reuse
 * the objects of equal parts.
 */
export type Compute<Value> = (reader: Reader, previous: Value | undefined) => Value

/** The body of a query that is computed in slices. */
export type ComputeWork<Value> = (reader: Reader, previous: Value | undefined) => Work<Value>

/** Reads the world and the results of queries for one revision. */
export interface Reader {
  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined
  /**
   * Returns the memoised result of a query, or computes it. name: identifies the query. subject: a resource (the
   * object) or a key; the result may depend only on the subject and on what the query reads.
   */
  query<Value>(name: string, subject: unknown, compute: Compute<Value>): Value
  /** Like query(), in slices. Only one such query may be at work at a time. */
  queryWork<Value>(name: string, subject: unknown, compute: ComputeWork<Value>): Work<Value>
}

/** Keeps the results of queries between revisions. */
export interface QueryEngine {
  /**
   * Begins a revision and returns its reader. Drops results that the previous revision did not use.
   * changed: the look-ups whose results differ from the previous revision.
   */
  begin(world: World, changed: readonly Read[]): Work<Reader>
}

interface Result {
  readonly name: string
  readonly subject: unknown
  readonly value: unknown
  readonly reads: readonly Read[]
  /** The results that it used; one may be there several times. */
  readonly parts: readonly Result[]
  /** The results that used this one. */
  users: SmallSet<Result>
  /** The last revision that asked for this result directly, not from within another query. */
  askedIn: number
}

/** Creates an engine without results. */
export function createQueryEngine(): QueryEngine {
  const results = new Results()
  return {
    *begin(world, changed) {
      yield* results.begin(world, changed)
      return new RevisionReader(results)
    },
  }
}

class Results {
  #revision = 0
  #world: World | undefined
  readonly #results = new ResultTable<Result>()
  /** Values of the results that the current revision's changes dropped. */
  #dropped = new ResultTable<unknown>()
  readonly #readers = new ReadIndex<Result>()
  /** Results that a revision asked for directly. */
  readonly #asked = new Set<Result>()
  /** Results that may have no users: candidates for removal. */
  readonly #loose = new Set<Result>()

  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined {
    return this.#world?.[table].get(key) as Row<Name> | undefined
  }

  *begin(world: World, changed: readonly Read[]): Work<void> {
    yield* this.#dropUnused()
    this.#dropped = new ResultTable()
    for (const read of changed)
      for (const result of this.#readers.readersOf(read)) yield* this.#drop(result, this.#dropped)
    this.#world = world
    this.#revision += 1
  }

  query<Value>(name: string, subject: unknown, compute: Compute<Value>): Result {
    const known = this.#results.get(name, subject)
    if (known !== undefined) return known
    const reader = new RecordingReader(this)
    const value = compute(reader, this.#previous<Value>(name, subject))
    return this.#keep(name, subject, value, reader)
  }

  *queryWork<Value>(name: string, subject: unknown, compute: ComputeWork<Value>): Work<Result> {
    const known = this.#results.get(name, subject)
    if (known !== undefined) return known
    const reader = new RecordingReader(this)
    const value = yield* compute(reader, this.#previous<Value>(name, subject))
    return this.#keep(name, subject, value, reader)
  }

  /** A name and a subject identify one query, so the dropped value has its type. */
  #previous<Value>(name: string, subject: unknown): Value | undefined {
    return this.#dropped.get(name, subject) as Value | undefined
  }

  ask(result: Result): void {
    result.askedIn = this.#revision
    this.#asked.add(result)
  }

  #keep(name: string, subject: unknown, value: unknown, reader: RecordingReader): Result {
    const { reads, parts } = reader
    const result: Result = { name, subject, value, reads, parts, users: undefined, askedIn: -1 }
    this.#results.set(name, subject, result)
    for (const read of reads) this.#readers.add(read, result)
    for (const part of parts) part.users = withElement(part.users, result)
    this.#loose.add(result)
    return result
  }

  /** Drops a result and all results that used it. dropped: collects their values. */
  *#drop(result: Result, dropped?: ResultTable<unknown>): Work<void> {
    const { name, subject, value, reads, parts } = result
    if (this.#results.get(name, subject) !== result) return
    this.#results.delete(name, subject)
    dropped?.set(name, subject, value)
    this.#asked.delete(result)
    this.#loose.delete(result)
    for (const read of reads) this.#readers.delete(read, result)
    for (const part of parts) {
      part.users = withoutElement(part.users, result)
      this.#loose.add(part)
    }
    yield
    for (const user of listOfSet(result.users)) yield* this.#drop(user, dropped)
  }

  *#dropUnused(): Work<void> {
    yield* each(this.#asked, (result) => {
      if (result.askedIn === this.#revision) return
      this.#asked.delete(result)
      this.#loose.add(result)
    })
    // Iterating a Set also visits elements added meanwhile: the parts of the results dropped here.
    for (const result of this.#loose) {
      this.#loose.delete(result)
      yield
      if (result.users === undefined && result.askedIn !== this.#revision) yield* this.#drop(result)
    }
  }
}

/** Values by the name and the subject of a query. */
class ResultTable<Value> {
  readonly #byName = new Map<string, Map<unknown, Value>>()

  get(name: string, subject: unknown): Value | undefined {
    return this.#byName.get(name)?.get(subject)
  }

  set(name: string, subject: unknown, value: Value): void {
    const known = this.#byName.get(name)
    if (known === undefined) this.#byName.set(name, new Map([[subject, value]]))
    else known.set(subject, value)
  }

  delete(name: string, subject: unknown): void {
    this.#byName.get(name)?.delete(subject)
  }
}

/** The revision's own reader: marks the queries it runs as used, and does not record its reads. */
class RevisionReader implements Reader {
  constructor(readonly results: Results) {}

  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined {
    return this.results.read(table, key)
  }

  query<Value>(name: string, subject: unknown, compute: Compute<Value>): Value {
    const result = this.results.query(name, subject, compute)
    this.results.ask(result)
    return result.value as Value
  }

  *queryWork<Value>(name: string, subject: unknown, compute: ComputeWork<Value>): Work<Value> {
    const result = yield* this.results.queryWork(name, subject, compute)
    this.results.ask(result)
    return result.value as Value
  }
}

/** The reader of one query: records its reads and the queries it uses. */
class RecordingReader implements Reader {
  readonly reads: Read[] = []
  readonly parts: Result[] = []

  constructor(readonly results: Results) {}

  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined {
    this.reads.push({ table, key })
    return this.results.read(table, key)
  }

  query<Value>(name: string, subject: unknown, compute: Compute<Value>): Value {
    const result = this.results.query(name, subject, compute)
    this.#use(result)
    return result.value as Value
  }

  *queryWork<Value>(name: string, subject: unknown, compute: ComputeWork<Value>): Work<Value> {
    const result = yield* this.results.queryWork(name, subject, compute)
    this.#use(result)
    return result.value as Value
  }

  /** Most queries use a part once, or again and again at once. */
  #use(result: Result): void {
    if (this.parts.at(-1) !== result) this.parts.push(result)
  }
}

/** Reverse index: the results that depend on a look-up. */
class ReadIndex<Dependent extends object> {
  readonly #tables = new Map<TableName, Map<string, SmallSet<Dependent>>>()

  add({ table, key }: Read, dependent: Dependent): void {
    const rows = this.#tables.get(table) ?? new Map<string, SmallSet<Dependent>>()
    this.#tables.set(table, rows)
    const known = rows.get(key)
    const now = withElement(known, dependent)
    if (now !== known) rows.set(key, now)
  }

  delete({ table, key }: Read, dependent: Dependent): void {
    const rows = this.#tables.get(table)
    const left = withoutElement(rows?.get(key), dependent)
    if (left === undefined) rows?.delete(key)
    else rows?.set(key, left)
  }

  readersOf({ table, key }: Read): readonly Dependent[] {
    return listOfSet(this.#tables.get(table)?.get(key))
  }
}
