// Remembers results between translations: a computation reads through a Reader, which notes what it read; while none of
// that changes, the remembered result is taken (docs/architecture.md, "One arrow"). A change is followed from what changed to the
// results that read it, so that it costs them alone.

import type { World } from './world.js'

/** What a look-up in one table of the world gives. */
export type Row<Name extends TableName> = World[Name] extends { get(key: string): infer Value }
  ? Value
  : never

export interface Reader {
  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined
  /**
   * The remembered result of compute, or a new one. what names the computation; subject is what it is about, and all
   * that it depends on beside what it reads: a resource (the object), or a key.
   */
  recall<Value>(what: string, subject: unknown, compute: (reader: Reader) => Value): Value
}

export interface Recall {
  /**
   * The reader of one round. Results that the round before this one did not use are forgotten.
   * changed: the look-ups that give something else than in the round before.
   */
  round(world: World, changed: readonly Read[]): Reader
}

interface Result {
  readonly what: string
  readonly subject: unknown
  readonly value: unknown
  readonly reads: readonly Read[]
  readonly parts: ReadonlySet<Result>
  /** The results that this one is a part of. */
  readonly users: Set<Result>
  /** Number of the last round that asked for it by itself. */
  askedIn: number
}

export function createRecall(): Recall {
  const memory = new Memory()
  return {
    round: (world, changed) => {
      memory.begin(world, changed)
      return new RoundReader(memory)
    },
  }
}

class Memory {
  #round = 0
  #world: World | undefined
  readonly #results = new Map<string, Map<unknown, Result>>()
  readonly #readers = new ReadIndex<Result>()
  /** What a round asked for by itself. */
  readonly #asked = new Set<Result>()
  /** What is perhaps not a part of anything. */
  readonly #loose = new Set<Result>()

  begin(world: World, changed: readonly Read[]): void {
    this.#forgetUnused()
    for (const read of changed)
      for (const result of this.#readers.readersOf(read)) this.#drop(result)
    this.#world = world
    this.#round += 1
  }

  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined {
    return this.#world?.[table].get(key) as Row<Name> | undefined
  }

  recall(what: string, subject: unknown, compute: (reader: Reader) => unknown): Result {
    const known = this.#results.get(what)?.get(subject)
    if (known !== undefined) return known
    const reader = new NotingReader(this)
    const value = compute(reader)
    const { reads, parts } = reader
    const result = { what, subject, value, reads, parts, users: new Set<Result>(), askedIn: -1 }
    this.#keep(result)
    return result
  }

  ask(result: Result): void {
    result.askedIn = this.#round
    this.#asked.add(result)
  }

  #keep(result: Result): void {
    const known = this.#results.get(result.what)
    if (known === undefined) this.#results.set(result.what, new Map([[result.subject, result]]))
    else known.set(result.subject, result)
    for (const read of result.reads) this.#readers.add(read, result)
    for (const part of result.parts) part.users.add(result)
    this.#loose.add(result)
  }

  /** With everything that it is a part of. */
  #drop(result: Result): void {
    const { what, subject, reads, parts, users } = result
    if (this.#results.get(what)?.get(subject) !== result) return
    this.#results.get(what)?.delete(subject)
    this.#asked.delete(result)
    this.#loose.delete(result)
    for (const read of reads) this.#readers.delete(read, result)
    for (const part of parts) {
      part.users.delete(result)
      this.#loose.add(part)
    }
    for (const user of [...users]) this.#drop(user)
  }

  #forgetUnused(): void {
    for (const result of this.#asked)
      if (result.askedIn !== this.#round) {
        this.#asked.delete(result)
        this.#loose.add(result)
      }
    // A set goes on with what is added while it is gone through: the parts of what is dropped here.
    for (const result of this.#loose) {
      this.#loose.delete(result)
      if (result.users.size === 0 && result.askedIn !== this.#round) this.#drop(result)
    }
  }
}

/** Of the round itself: what it asks for is used, and its own reads are made anew in each round. */
class RoundReader implements Reader {
  constructor(readonly memory: Memory) {}

  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined {
    return this.memory.read(table, key)
  }

  recall<Value>(what: string, subject: unknown, compute: (reader: Reader) => Value): Value {
    const result = this.memory.recall(what, subject, compute)
    this.memory.ask(result)
    return result.value as Value
  }
}

/** Of one computation. */
class NotingReader implements Reader {
  readonly reads: Read[] = []
  readonly parts = new Set<Result>()

  constructor(readonly memory: Memory) {}

  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined {
    this.reads.push({ table, key })
    return this.memory.read(table, key)
  }

  recall<Value>(what: string, subject: unknown, compute: (reader: Reader) => Value): Value {
    const result = this.memory.recall(what, subject, compute)
    this.parts.add(result)
    return result.value as Value
  }
}

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
