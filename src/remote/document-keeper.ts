// Keeps one remote document fresh: fetch, wait, fetch again; the last good one stays whatever comes after it (decisions 1 and 2).

import { isDeepStrictEqual } from 'node:util'
import type { RemoteDocument, WantedDocument } from '../ir/remote-target.js'
import type { Result } from '../result.js'
import type { Fetched } from './fetch-document.js'
import { REFETCH_EVERY_MS, refreshDelay, retryDelay } from './refresh-times.js'

export interface KeeperDeps {
  /** Never rejects. isExtra: a request waits for it. */
  fetch(
    wanted: WantedDocument,
    signal: AbortSignal,
    isExtra: boolean,
  ): Promise<Result<Fetched, string>>
  /** Called after every fetch. before: what was known until then. */
  onFetched(after: RemoteDocument, before: RemoteDocument): void
  /** The document has become too old while a fetch was under way. */
  onExpired(after: RemoteDocument, before: RemoteDocument): void
  /** Milliseconds since the epoch. */
  now(): number
  /** 0 to 1. */
  random(): number
  /** Calls back once after so many milliseconds, unless the function it returns is called before. */
  startTimer(callback: () => void, ms: number): () => void
  /** A document this long after its last success is not used any more; absent: for ever. */
  readonly maxStaleMs?: number | undefined
}

/** What a fetch came to that somebody waited for. */
export interface Refetched {
  /** It brought a document. */
  readonly isAnswered: boolean
  /** It had begun before it was asked for: what has been published since may be missing in it. */
  readonly isOlder: boolean
}

export interface DocumentKeeper {
  /** Other targets for the same document: asked at once when the ones before did not answer, else when a fetch is due. */
  update(wanted: WantedDocument): void
  /** Resolves when a fetch is done: the one under way, else the next one, which all share that ask for one until it begins. */
  refetch(): Promise<Refetched>
  /** How many documents it has been given, the same one again included. */
  readonly answers: number
  /** Resolves when nothing of it is left running. */
  close(): Promise<void>
}

/** Node's longest timer; no fetch takes so long. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Begins to fetch at once. */
export function createDocumentKeeper(first: WantedDocument, deps: KeeperDeps): DocumentKeeper {
  const keeper = new Keeper(first, deps)
  void keeper.fetchNow()
  return keeper
}

class Keeper implements DocumentKeeper {
  private known: RemoteDocument = {}
  private failures = 0
  private answered = 0
  private lastBegun = -Infinity
  private closed = false
  /** True when it was answered. */
  private underWay: Promise<boolean> | undefined
  private nextExtra: Promise<boolean> | undefined
  private cancelExtra = (): void => undefined
  private abort = new AbortController()
  private cancelTimer = (): void => undefined

  constructor(
    private wanted: WantedDocument,
    private readonly deps: KeeperDeps,
  ) {}

  get answers(): number {
    return this.answered
  }

  fetchNow(isExtra = false): Promise<boolean> {
    if (this.underWay !== undefined) return this.underWay
    this.cancelTimer()
    this.expireInTime()
    this.lastBegun = this.deps.now()
    this.underWay = this.fetchUntilCurrent(isExtra).finally(() => (this.underWay = undefined))
    return this.underWay
  }

  update(next: WantedDocument): void {
    if (isDeepStrictEqual(next, this.wanted)) return
    this.wanted = next
    if (this.underWay !== undefined) this.abort.abort()
    // Endpoints come and go all the time; a document that is good needs no fetch for that.
    else if (this.known.error !== undefined) void this.fetchNow()
  }

  async refetch(): Promise<Refetched> {
    if (this.closed) return { isAnswered: false, isOlder: false }
    if (this.underWay !== undefined) return { isAnswered: await this.underWay, isOlder: true }
    this.nextExtra ??= this.fetchWhenDue().finally(() => (this.nextExtra = undefined))
    return { isAnswered: await this.nextExtra, isOlder: false }
  }

  async close(): Promise<void> {
    this.closed = true
    this.cancelTimer()
    this.cancelExtra()
    this.abort.abort()
    await this.underWay
  }

  /** Not sooner after the last fetch than that; a clock that was set back does not prolong it. */
  private fetchWhenDue(): Promise<boolean> {
    const since = this.deps.now() - this.lastBegun
    if (since < 0 || since >= REFETCH_EVERY_MS) return this.fetchNow(true)
    return new Promise((resolve) => {
      const cancel = this.deps.startTimer(
        () => resolve(this.fetchNow(true)),
        REFETCH_EVERY_MS - since,
      )
      this.cancelExtra = () => {
        cancel()
        resolve(false)
      }
    })
  }

  /** A fetch may hang, and wait in line behind others that do: that makes no document last longer. */
  private expireInTime(): void {
    const { deps, known } = this
    const usableMs = untilStale(known, deps.maxStaleMs, deps.now())
    // One that is renewed at its very end, from a provider that answers, is not taken away for the moment in between.
    if (usableMs > MAX_TIMER_MS || (usableMs === 0 && known.error === undefined)) return
    this.cancelTimer = deps.startTimer(() => {
      const before = this.known
      this.known = failed(before, before.error ?? 'no answer came in time', 0)
      deps.onExpired(this.known, before)
    }, usableMs)
  }

  private async fetchUntilCurrent(isExtra: boolean): Promise<boolean> {
    for (;;) {
      const asked = this.wanted
      this.abort = new AbortController()
      const result = await this.deps.fetch(asked, this.abort.signal, isExtra)
      if (this.closed) return false
      if (asked !== this.wanted) continue
      this.settle(result)
      return result.ok
    }
  }

  private settle(result: Result<Fetched, string>): void {
    const { deps } = this
    const { maxStaleMs } = deps
    this.cancelTimer()
    const before = this.known
    const now = deps.now()
    this.failures = result.ok ? 0 : this.failures + 1
    if (result.ok) this.answered += 1
    this.known = result.ok
      ? succeeded(before, result.value, now)
      : failed(before, result.error, untilStale(before, maxStaleMs, now))
    const delay = result.ok
      ? refreshDelay({ ...result.value, maxStaleMs }, deps.random())
      : Math.min(retryDelay(this.failures, deps.random()), untilStale(this.known, maxStaleMs, now))
    this.cancelTimer = deps.startTimer(() => void this.fetchNow(), delay)
    deps.onFetched(this.known, before)
  }
}

/** The same content stays the same object, so that what was built from it is not built again. */
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

/** Milliseconds; Infinity: it has no end, or there is nothing that could end. */
const untilStale = (
  { document, fetchedAt }: RemoteDocument,
  maxStaleMs: number | undefined,
  now: number,
): number =>
  document === undefined || fetchedAt === undefined || maxStaleMs === undefined
    ? Infinity
    : Math.max(0, fetchedAt + maxStaleMs - now)
