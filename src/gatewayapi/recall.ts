// Remembers results between translations: a computation reads through a Reader, which notes what it read; while all of
// that is the same objects, the next round takes the remembered result (DESIGN "One arrow" 0).

import type { World } from './world.js'

export type TableName = keyof World
/** What a look-up in one table of the world gives. */
export type Row<Name extends TableName> =
  World[Name] extends ReadonlyMap<string, infer Value> ? Value : never

export interface Reader {
  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined
  /**
   * The remembered result of compute, or a new one. what names the computation; subject is what it is about, and all
   * that it depends on beside what it reads: a resource (the object), or a key.
   */
  recall<Value>(what: string, subject: unknown, compute: (reader: Reader) => Value): Value
}

export interface Recall {
  /** The reader of one round. Results that the round before this one did not use are forgotten. */
  round(world: World): Reader
}

interface Result {
  readonly what: string
  readonly subject: unknown
  readonly value: unknown
  readonly reads: readonly Read[]
  readonly parts: readonly Result[]
  /** Number of the last round that looked whether it is fresh, and what that round found. */
  checkedIn: number
  isFresh: boolean
}

interface Read {
  readonly table: TableName
  readonly key: string
  readonly value: unknown
}

type Results = Map<string, Map<unknown, Result>>

interface Past {
  readonly world: World
  readonly results: Results
}

export function createRecall(): Recall {
  let number = 0
  let previous: Past | undefined
  return {
    round: (world) => {
      const round = new Round(number++, world, previous)
      previous = { world, results: round.results }
      return new NotingReader(round)
    },
  }
}

class Round {
  readonly results: Results = new Map()

  constructor(
    readonly number: number,
    readonly world: World,
    readonly past: Past | undefined,
  ) {}

  recall(what: string, subject: unknown, compute: (reader: Reader) => unknown): Result {
    const done = this.results.get(what)?.get(subject)
    if (done !== undefined) return done
    const before = this.past?.results.get(what)?.get(subject)
    if (before !== undefined && this.#isFresh(before)) return before
    const reader = new NotingReader(this)
    const value = compute(reader)
    const { reads, parts } = reader
    const result = { what, subject, value, reads, parts, checkedIn: this.number, isFresh: true }
    this.#keep(result)
    return result
  }

  /** A fresh result is kept for the next round, with its parts, which nobody may ask for by themselves. */
  #isFresh(result: Result): boolean {
    if (result.checkedIn === this.number) return result.isFresh
    result.isFresh =
      result.reads.every((read) => this.#isSame(read)) &&
      result.parts.every((part) => this.#isFresh(part))
    result.checkedIn = this.number
    if (result.isFresh) this.#keep(result)
    return result.isFresh
  }

  #isSame({ table, key, value }: Read): boolean {
    if (this.world[table] === this.past?.world[table]) return true
    return this.world[table].get(key) === value
  }

  #keep(result: Result): void {
    const known = this.results.get(result.what)
    if (known === undefined) this.results.set(result.what, new Map([[result.subject, result]]))
    else known.set(result.subject, result)
  }
}

class NotingReader implements Reader {
  readonly reads: Read[] = []
  readonly parts: Result[] = []

  constructor(readonly round: Round) {}

  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined {
    const value = this.round.world[table].get(key) as Row<Name> | undefined
    this.reads.push({ table, key, value })
    return value
  }

  recall<Value>(what: string, subject: unknown, compute: (reader: Reader) => Value): Value {
    const result = this.round.recall(what, subject, compute)
    this.parts.push(result)
    return result.value as Value
  }
}
