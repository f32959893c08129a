// Remembers results between translations: a computation reads through a Reader, which notes what it read; while all of
// that is the same objects, the next round takes the remembered result (DESIGN "One arrow" 0).

import type { World } from './world.js'

export type TableName = keyof World
/** What a look-up in one table of the world gives. */
export type Row<Name extends TableName> =
  World[Name] extends ReadonlyMap<string, infer Value> ? Value : never

export interface Reader {
  read<Name extends TableName>(table: Name, key: string): Row<Name> | undefined
  /** The remembered result of compute, or a new one. The same key always goes with the same computation. */
  recall<Value>(key: string, compute: (reader: Reader) => Value): Value
}

export interface Recall {
  /** The reader of one round. Results that the round before this one did not use are forgotten. */
  round(world: World): Reader
}

interface Result {
  readonly key: string
  readonly value: unknown
  readonly reads: readonly Read[]
  readonly parts: readonly Result[]
}

interface Read {
  readonly table: TableName
  readonly key: string
  readonly value: unknown
}

export function createRecall(): Recall {
  let previousWorld: World | undefined
  let previous: ReadonlyMap<string, Result> = new Map()
  return {
    round: (world) => {
      const round = new Round(world, previousWorld, previous)
      previousWorld = world
      previous = round.results
      return new NotingReader(round)
    },
  }
}

class Round {
  readonly results = new Map<string, Result>()
  readonly #fresh = new Map<Result, boolean>()

  constructor(
    readonly world: World,
    readonly previousWorld: World | undefined,
    readonly previous: ReadonlyMap<string, Result>,
  ) {}

  recall(key: string, compute: (reader: Reader) => unknown): Result {
    const done = this.results.get(key)
    if (done !== undefined) return done
    const before = this.previous.get(key)
    if (before !== undefined && this.#isFresh(before)) return before
    const result = this.#compute(key, compute)
    this.results.set(key, result)
    return result
  }

  /** A fresh result is kept for the next round, with its parts, which nobody may ask for by themselves. */
  #isFresh(result: Result): boolean {
    const known = this.#fresh.get(result)
    if (known !== undefined) return known
    const fresh =
      result.reads.every((read) => this.#isSame(read)) &&
      result.parts.every((part) => this.#isFresh(part))
    this.#fresh.set(result, fresh)
    if (fresh) this.results.set(result.key, result)
    return fresh
  }

  #isSame({ table, key, value }: Read): boolean {
    if (this.world[table] === this.previousWorld?.[table]) return true
    return this.world[table].get(key) === value
  }

  #compute(key: string, compute: (reader: Reader) => unknown): Result {
    const reader = new NotingReader(this)
    const value = compute(reader)
    return { key, value, reads: reader.reads, parts: reader.parts }
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

  recall<Value>(key: string, compute: (reader: Reader) => Value): Value {
    const result = this.round.recall(key, compute)
    this.parts.push(result)
    return result.value as Value
  }
}
