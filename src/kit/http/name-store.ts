// Resolves the host names of backends periodically in the background, and keeps the last good answers. The translation
// decides which of the addresses are allowed (address-rules.ts).

import type { LookupAddress } from 'node:dns'
import type { NameState, ResolvedName } from '../../model/resolved-name.js'
import type { Logger } from '../logger.js'
import { codeOf } from './connect/remote-failure.js'
import type { Lookup } from './connect/resolve.js'
import { createLimit } from './limit.js'

/** What the store is created with. */
export interface NameStoreDeps extends NameTurnsDeps {
  readonly logger: Logger
  /** Called when answers or errors have changed. Never called from within want(). */
  onChange(): void
  /** Returns a number from 0 to 1. */
  random(): number
}

/** The addresses of wanted names. */
export interface NameStore {
  /** Sets the wanted names; all others are dropped. */
  want(names: readonly string[]): void
  /** The current state; replaced as a whole at every change. */
  state(): NameState
  /** Stops all timers; pending answers are ignored. */
  close(): void
}

/** About the cache time of a cluster's name server; the system's resolver does not return the TTL of an answer. */
const REFRESH_MS = 10_000
const FIRST_RETRY_MS = 1_000
const MAX_RETRY_MS = 60_000

interface Kept {
  failures: number
  standing: Standing
  isWanted: boolean
  stopTimer: () => void
}

/** Creates a store without names. */
export function createNameStore(deps: NameStoreDeps): NameStore {
  const kept = new Map<string, Kept>()
  const turns = createNameTurns(deps)
  let state: NameState = new Map()

  const learn = (name: string, after: ResolvedName): void => {
    const before = state.get(name)
    if (before !== undefined && isSame(before, after)) return
    state = new Map(state).set(name, after)
    logChange(deps.logger, name, before, after)
    deps.onChange()
  }

  const resolveOnce = async (name: string, own: Kept): Promise<void> => {
    const answer = await turns.ask(name, own.standing, () => own.isWanted)
    if (answer === undefined || !own.isWanted) return
    const { found, standing } = answer
    own.standing = standing
    own.failures = 'error' in found ? own.failures + 1 : 0
    const delay = 'error' in found ? retryDelay(own.failures) : REFRESH_MS
    own.stopTimer = deps.startTimer(
      () => void resolveOnce(name, own),
      Math.round(delay * (1 + deps.random() / 10)),
    )
    const { ips } = state.get(name) ?? {}
    learn(name, 'error' in found && ips !== undefined ? { ...found, ips } : found)
  }

  const forget = (name: string, own: Kept): void => {
    own.isWanted = false
    own.stopTimer()
    kept.delete(name)
  }

  return {
    want(names) {
      const wanted = new Set(names)
      for (const [name, own] of kept) if (!wanted.has(name)) forget(name, own)
      if ([...state.keys()].some((name) => !wanted.has(name)))
        state = new Map([...state].filter(([name]) => wanted.has(name)))
      for (const name of wanted) {
        if (kept.has(name)) continue
        const own: Kept = {
          failures: 0,
          standing: 'new',
          isWanted: true,
          stopTimer: () => undefined,
        }
        kept.set(name, own)
        void resolveOnce(name, own)
      }
    },
    state: () => state,
    close() {
      for (const [name, own] of kept) forget(name, own)
      turns.close()
    },
  }
}

/** failures: consecutive failures, from 1. */
const retryDelay = (failures: number): number =>
  Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10))

const isSame = (a: ResolvedName, b: ResolvedName): boolean =>
  a.error === b.error && a.ips?.join() === b.ips?.join()

/** Logs the first failure, a change of the error and the recovery, but not each retry. */
function logChange(
  logger: Logger,
  name: string,
  before: ResolvedName | undefined,
  after: ResolvedName,
): void {
  if (before?.error === after.error) return
  if (after.error === undefined) logger.info({ name }, 'a host name resolves again')
  else
    logger.warn(
      { name, error: after.error, lastGood: after.ips !== undefined },
      'a host name of a backend cannot be resolved, retrying',
    )
}

// Schedules the lookups of the name store so that silent name servers do not delay other names: the system's resolver
// runs few lookups at once, and one that is no longer awaited still occupies its place.

/** What lookups are made with. */
interface NameTurnsDeps {
  readonly lookup: Lookup
  /** How many lookups the system's resolver runs at once; default 2, as in Node. */
  readonly places?: number
  /** Calls back once after ms milliseconds, unless the returned function is called before. */
  startTimer(callback: () => void, ms: number): () => void
}

/** How a name is expected to resolve. proven: the last answer was good and quick; doubtful: it was not. */
type Standing = 'new' | 'proven' | 'doubtful'

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
const createNameTurns = (deps: NameTurnsDeps): NameTurns => new Turns(deps)

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
