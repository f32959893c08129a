// Keeps one remote document fresh by periodic fetches; on failure the last good one stays in use (decisions 1 and 2).

import { isDeepStrictEqual } from 'node:util'
import type { UpstreamTls } from '../../model/destination.js'
import type { RemoteDocument, RemoteTarget, WantedDocument } from '../../model/remote-target.js'
import type { Result } from '../result.js'
import type { Fetched } from './fetch-document.js'
import type { FetchInTurn } from './fetch-in-turn.js'
import { REFETCH_EVERY_MS, refreshDelay, retryDelay } from './refresh-times.js'

/** What a keeper is created with. */
export interface KeeperDeps {
  /** Fetches the document. Its result never rejects. isExtra: a request waits for it. */
  fetch(
    wanted: WantedDocument,
    signal: AbortSignal,
    isExtra: boolean,
  ): FetchInTurn<Result<Fetched, string>>
  /** Called after every fetch. before: the previous state. */
  onFetched(after: RemoteDocument, before: RemoteDocument): void
  /** Called when the document has become too old during a fetch. */
  onExpired(after: RemoteDocument, before: RemoteDocument): void
  /** Milliseconds since the epoch. */
  now(): number
  /** Returns a number from 0 to 1. */
  random(): number
  /** Calls back once after ms milliseconds, unless the returned function is called before. */
  startTimer(callback: () => void, ms: number): () => void
  /** Time after the last success from which the document is no longer used; absent: no limit. */
  readonly maxStaleMs?: number | undefined
}

/** Outcome of a requested fetch. */
export interface Refetched {
  /** Whether it returned a document. */
  readonly isAnswered: boolean
  /** Whether it had begun before the request, and so may lack what was published since. */
  readonly isOlder: boolean
}

/** Keeps one document fresh. */
export interface DocumentKeeper {
  /**
   * Changes the targets. Fetches now if the last fetch failed, one is under way or other authorities are trusted, else when
   * the next is due.
   */
  update(wanted: WantedDocument): void
  /** Resolves after a fetch: the one under way, else the next, which all callers share until it begins. */
  refetch(): Promise<Refetched>
  /** Number of successful fetches, including unchanged documents. */
  readonly answers: number
  /** Stops. Resolves when no fetch is running. */
  close(): Promise<void>
}

/** Longest timer of Node; no fetch takes so long. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Creates a keeper, which immediately begins to fetch. */
export function createDocumentKeeper(first: WantedDocument, deps: KeeperDeps): DocumentKeeper {
  const keeper = new Keeper(first, deps)
  void keeper.fetchNow()
  return keeper
}

class Keeper implements DocumentKeeper {
  #known: RemoteDocument = {}
  #failures = 0
  #answered = 0
  #lastBegun = -Infinity
  #closed = false
  /** The fetch under way; resolves to true if it succeeded. */
  #underWay: Promise<boolean> | undefined
  /** FetchInTurn.hurry() of the fetch under way. */
  #hurry = (): boolean => false
  #nextExtra: Promise<boolean> | undefined
  #cancelExtra = (): void => undefined
  #abort = new AbortController()
  #cancelTimer = (): void => undefined

  constructor(
    private wanted: WantedDocument,
    private readonly deps: KeeperDeps,
  ) {}

  get answers(): number {
    return this.#answered
  }

  fetchNow(isExtra = false): Promise<boolean> {
    if (this.#underWay !== undefined) return this.#underWay
    this.#cancelTimer()
    this.#expireInTime()
    this.#lastBegun = this.deps.now()
    this.#underWay = this.#fetchUntilCurrent(isExtra)
    return this.#underWay
  }

  update(next: WantedDocument): void {
    const before = this.wanted
    if (isDeepStrictEqual(next, before)) return
    this.wanted = next
    if (this.#underWay !== undefined) this.#abort.abort()
    // Endpoints change all the time; a good document needs no fetch for that. One that was fetched under trust that was
    // withdrawn stays in force until the next answer, which must not wait for the refresh.
    else if (this.#known.error !== undefined || !areAuthoritiesEqual(next, before))
      void this.fetchNow()
  }

  async refetch(): Promise<Refetched> {
    if (this.#closed) return { isAnswered: false, isOlder: false }
    if (this.#underWay !== undefined) return this.#joinFetch(this.#underWay)
    this.#nextExtra ??= this.#fetchWhenDue().finally(() => (this.#nextExtra = undefined))
    return { isAnswered: await this.#nextExtra, isOlder: false }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelTimer()
    this.#cancelExtra()
    this.#abort.abort()
    await this.#underWay
  }

  /** A fetch that waits for its turn, perhaps behind providers that hang, begins now. */
  async #joinFetch(underWay: Promise<boolean>): Promise<Refetched> {
    const begins = this.#hurry()
    if (begins) this.#lastBegun = this.deps.now()
    return { isAnswered: await underWay, isOlder: !begins }
  }

  /** Fetches at least REFETCH_EVERY_MS after the last begin; a clock that was set back does not extend the wait. */
  #fetchWhenDue(): Promise<boolean> {
    const since = this.deps.now() - this.#lastBegun
    if (since < 0 || since >= REFETCH_EVERY_MS) return this.fetchNow(true)
    return new Promise((resolve) => {
      const cancel = this.deps.startTimer(
        () => resolve(this.fetchNow(true)),
        REFETCH_EVERY_MS - since,
      )
      this.#cancelExtra = () => {
        cancel()
        resolve(false)
      }
    })
  }

  /** Expires the document in time even if its fetch hangs, or waits behind others that hang. */
  #expireInTime(): void {
    const { deps } = this
    const known = this.#known
    const usableMs = untilStale(known, deps.maxStaleMs, deps.now())
    // A document renewed exactly when it expires stays in use for that moment if its provider has been answering.
    if (usableMs > MAX_TIMER_MS || (usableMs === 0 && known.error === undefined)) return
    this.#cancelTimer = deps.startTimer(() => {
      const before = this.#known
      this.#known = failed(before, before.error ?? 'no answer came in time', 0)
      deps.onExpired(this.#known, before)
    }, usableMs)
  }

  async #fetchUntilCurrent(isExtra: boolean): Promise<boolean> {
    for (;;) {
      const asked = this.wanted
      this.#abort = new AbortController()
      const fetch = this.deps.fetch(asked, this.#abort.signal, isExtra)
      this.#hurry = () => fetch.hurry()
      const result = await fetch.result
      if (this.#closed) return false
      if (asked !== this.wanted) continue
      // What is told of the result may call update(), which must not take this fetch for one of the new targets.
      this.#underWay = undefined
      this.#settle(result)
      return result.ok
    }
  }

  #settle(result: Result<Fetched, string>): void {
    const { deps } = this
    const { maxStaleMs } = deps
    this.#cancelTimer()
    const before = this.#known
    const now = deps.now()
    this.#failures = result.ok ? 0 : this.#failures + 1
    if (result.ok) this.#answered += 1
    this.#known = result.ok
      ? succeeded(before, result.value, now)
      : {
          ...failed(before, result.error, untilStale(before, maxStaleMs, now)),
          failedAt: now,
        }
    const delay = result.ok
      ? refreshDelay({ ...result.value, maxStaleMs }, deps.random())
      : Math.min(
          retryDelay(this.#failures, deps.random()),
          untilStale(this.#known, maxStaleMs, now),
        )
    this.#cancelTimer = deps.startTimer(() => void this.fetchNow(), delay)
    deps.onFetched(this.#known, before)
  }
}

/** Whether both trust the same authorities, or use no TLS. The names that certificates must carry are part of the id. */
const areAuthoritiesEqual = (one: WantedDocument, other: WantedDocument): boolean =>
  isDeepStrictEqual(one.targets.map(authoritiesOf), other.targets.map(authoritiesOf))

const authoritiesOf = ({ tls }: RemoteTarget): UpstreamTls['authorities'] | undefined =>
  tls?.authorities

/** Keeps the same object for the same content, which avoids rebuilding what depends on it. */
const succeeded = (before: RemoteDocument, fetched: Fetched, now: number): RemoteDocument => ({
  document:
    before.document !== undefined && isDeepStrictEqual(before.document, fetched.document)
      ? before.document
      : fetched.document,
  ...(fetched.isOpenToPages === undefined ? {} : { isOpenToPages: fetched.isOpenToPages }),
  fetchedAt: now,
})

/** usableMs: how long the last good document may still be used. */
function failed(before: RemoteDocument, error: string, usableMs: number): RemoteDocument {
  const { document: lastGood, ...rest } = before
  return {
    ...rest,
    ...(lastGood !== undefined && usableMs > 0 ? { document: lastGood } : {}),
    error,
  }
}

/** Returns the milliseconds until the document expires; Infinity if it never does, or if there is none. */
const untilStale = (
  { document, fetchedAt }: RemoteDocument,
  maxStaleMs: number | undefined,
  now: number,
): number =>
  document === undefined || fetchedAt === undefined || maxStaleMs === undefined
    ? Infinity
    : Math.max(0, fetchedAt + maxStaleMs - now)
