// The questions of the name store, in an order in which nobody's silent name servers hold up the names of others: the
// system's resolver has few places, and a question whose answer nobody waits for any more still has one.

import type { LookupAddress } from 'node:dns'
import { createLimit } from './limit.js'
import { codeOf } from './remote-failure.js'
import type { Lookup } from './resolve.js'

export interface NameTurnsDeps {
  readonly lookup: Lookup
  /** How many questions the system's resolver answers at a time; default 2, as in Node. */
  readonly places?: number
  /** Calls back once after so many milliseconds, unless the function it returns is called before. */
  startTimer(callback: () => void, ms: number): () => void
}

/** What the last answer says of the next: proven: it comes at once. */
export type Standing = 'new' | 'proven' | 'doubtful'

export interface NameAnswer {
  readonly found: { readonly ips: readonly string[] } | { readonly error: string }
  readonly standing: Standing
}

export interface NameTurns {
  /** Never rejects. undefined: at its turn isWanted() was false, or it was closed. */
  ask(name: string, standing: Standing, isWanted: () => boolean): Promise<NameAnswer | undefined>
  /** No timer is left. */
  close(): void
}

/** A name that is answered later waits behind those that may be answered at once. */
const SOON_MS = 500
/** A resolver that says nothing for so long has failed. */
const PATIENCE_MS = 5_000
/** It asks on until then, about, and has a place for that. */
const HELD_MS = 30_000
const DEFAULT_PLACES = 2

export const createNameTurns = (deps: NameTurnsDeps): NameTurns => new Turns(deps)

class Turns implements NameTurns {
  readonly #deps: NameTurnsDeps
  readonly #proven
  readonly #others
  readonly #timers = new Set<() => void>()
  #closed = false

  constructor(deps: NameTurnsDeps) {
    this.#deps = deps
    // Half of the places is left to our own calls, as far as there are enough.
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

  /** Never rejects. */
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
