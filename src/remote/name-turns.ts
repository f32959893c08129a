// Schedules the lookups of the name store so that silent name servers do not delay other names: the system's resolver
// runs few lookups at once, and one that is no longer awaited still occupies its place.

import type { LookupAddress } from 'node:dns'
import { codeOf } from './connect/remote-failure.js'
import type { Lookup } from './connect/resolve.js'
import { createLimit } from './limit.js'

/** What lookups are made with. */
export interface NameTurnsDeps {
  readonly lookup: Lookup
  /** How many lookups the system's resolver runs at once; default 2, as in Node. */
  readonly places?: number
  /** Calls back once after ms milliseconds, unless the returned function is called before. */
  startTimer(callback: () => void, ms: number): () => void
}

/** How a name is expected to resolve. proven: the last answer was good and quick; doubtful: it was not. */
export type Standing = 'new' | 'proven' | 'doubtful'

/** The result of a lookup. */
export interface NameAnswer {
  readonly found: { readonly ips: readonly string[] } | { readonly error: string }
  readonly standing: Standing
}

/** The queue of lookups. */
export interface NameTurns {
  /** Looks a name up. Never rejects; undefined: isWanted() was false at its turn, or it was closed. */
  ask(name: string, standing: Standing, isWanted: () => boolean): Promise<NameAnswer | undefined>
  /** Stops all timers. */
  close(): void
}

/** An answer that takes longer makes a name doubtful: it then waits behind all new names. */
const SOON_MS = 500
/** A lookup without an answer for this long has failed. */
const PATIENCE_MS = 5_000
/** About how long the resolver goes on trying; until then a lookup occupies its place. */
const HELD_MS = 30_000
const DEFAULT_PLACES = 2

/** Creates an empty queue. */
export const createNameTurns = (deps: NameTurnsDeps): NameTurns => new Turns(deps)

class Turns implements NameTurns {
  readonly #deps: NameTurnsDeps
  readonly #proven
  readonly #others
  readonly #timers = new Set<() => void>()
  #closed = false

  constructor(deps: NameTurnsDeps) {
    this.#deps = deps
    // Half of the places are left to Gatehouse's own calls, if there are enough.
    const share = Math.max(1, Math.floor((deps.places ?? DEFAULT_PLACES) / 4))
    this.#proven = createLimit(share)
    this.#others = createLimit(share)
  }

  ask(name: string, standing: Standing, isWanted: () => boolean): Promise<NameAnswer | undefined> {
    const limit = standing === 'proven' ? this.#proven : this.#others
    return new Promise((resolve) => {
      void limit(async () => {
        if (this.#closed || !isWanted()) return resolve(undefined)
        const since = performance.now()
        const asked = this.#look(name)
        void this.#within(asked, PATIENCE_MS).then((found) => {
          const isSoon = performance.now() - since <= SOON_MS
          const isGood = found !== undefined && 'ips' in found && isSoon
          resolve({
            found: found ?? { error: failure(name, 'no answer') },
            standing: isGood ? 'proven' : 'doubtful',
          })
        })
        await this.#within(asked, HELD_MS)
      }, standing === 'doubtful')
    })
  }

  close(): void {
    this.#closed = true
    for (const stop of this.#timers) stop()
  }

  /** Looks a name up. Never rejects. */
  #look(name: string): Promise<NameAnswer['found']> {
    return this.#deps.lookup(name).then(
      (all) => (all.length > 0 ? { ips: ipsOf(all) } : { error: failure(name, 'ENODATA') }),
      (error: unknown) => ({ error: failure(name, codeOf(error)) }),
    )
  }

  #within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      const stop = this.#deps.startTimer(() => settle(undefined), ms)
      const settle = (value: T | undefined): void => {
        stop()
        this.#timers.delete(stop)
        resolve(value)
      }
      this.#timers.add(stop)
      void promise.then(settle)
    })
  }
}

const ipsOf = (found: readonly LookupAddress[]): readonly string[] =>
  [...new Set(found.map(({ address }) => address))].sort()

const failure = (name: string, code: string): string =>
  `the name ${name} cannot be resolved (${code})`
