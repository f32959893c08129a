// Keeps one remote document fresh: fetch, wait, fetch again; the last good one stays whatever comes after it (decisions 1 and 2).

import { isDeepStrictEqual } from 'node:util'
import type { RemoteDocument, WantedDocument } from '../ir/remote-target.js'
import type { Result } from '../result.js'
import type { Fetched } from './fetch-document.js'
import { REFETCH_COOLDOWN_MS, refreshDelay, retryDelay } from './refresh-times.js'

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

export interface DocumentKeeper {
  /** Other targets for the same document: asked at once when the ones before did not answer, else when a fetch is due. */
  update(wanted: WantedDocument): void
  /** Resolves when a fetch is done: the one under way, else an extra one, at most one in 10 s; otherwise at once. */
  refetch(): Promise<void>
  /** Resolves when nothing of it is left running. */
  close(): Promise<void>
}

/** Node's longest timer; no fetch takes so long. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Begins to fetch at once. */
export const createDocumentKeeper = (first: WantedDocument, deps: KeeperDeps): DocumentKeeper => {
  let wanted = first
  let known: RemoteDocument = {}
  let failures = 0
  let lastExtra = -Infinity
  let closed = false
  let underWay: Promise<void> | undefined
  let abort = new AbortController()
  let cancelTimer = () => {}

  const fetchNow = (isExtra = false): Promise<void> => {
    if (underWay !== undefined) return underWay
    cancelTimer()
    expireInTime()
    underWay = fetchUntilCurrent(isExtra).finally(() => (underWay = undefined))
    return underWay
  }

  /** A fetch may hang, and wait in line behind others that do: that makes no document last longer. */
  const expireInTime = (): void => {
    const usableMs = untilStale(known, deps.maxStaleMs, deps.now())
    // One that is renewed at its very end, from a provider that answers, is not taken away for the moment in between.
    if (usableMs > MAX_TIMER_MS || (usableMs === 0 && known.error === undefined)) return
    cancelTimer = deps.startTimer(() => {
      const before = known
      known = failed(before, before.error ?? 'no answer came in time', 0)
      deps.onExpired(known, before)
    }, usableMs)
  }

  const fetchUntilCurrent = async (isExtra: boolean): Promise<void> => {
    for (;;) {
      const asked = wanted
      abort = new AbortController()
      const result = await deps.fetch(asked, abort.signal, isExtra)
      if (closed) return
      if (asked === wanted) return settle(result)
    }
  }

  const settle = (result: Result<Fetched, string>): void => {
    const { maxStaleMs } = deps
    cancelTimer()
    const before = known
    const now = deps.now()
    failures = result.ok ? 0 : failures + 1
    known = result.ok
      ? succeeded(before, result.value, now)
      : failed(before, result.error, untilStale(before, maxStaleMs, now))
    const delay = result.ok
      ? refreshDelay({ ...result.value, maxStaleMs }, deps.random())
      : Math.min(retryDelay(failures, deps.random()), untilStale(known, maxStaleMs, now))
    cancelTimer = deps.startTimer(() => void fetchNow(), delay)
    deps.onFetched(known, before)
  }

  /** Not in the time after the last extra one; a clock that was set back does not prolong it. */
  const mayFetchExtra = (): boolean => {
    const since = deps.now() - lastExtra
    return since < 0 || since >= REFETCH_COOLDOWN_MS
  }

  void fetchNow()
  return {
    update: (next) => {
      if (isDeepStrictEqual(next, wanted)) return
      wanted = next
      if (underWay !== undefined) abort.abort()
      // Endpoints come and go all the time; a document that is good needs no fetch for that.
      else if (known.error !== undefined) void fetchNow()
    },
    refetch: async () => {
      if (underWay !== undefined) return underWay
      if (closed || !mayFetchExtra()) return
      lastExtra = deps.now()
      return fetchNow(true)
    },
    close: async () => {
      closed = true
      cancelTimer()
      abort.abort()
      await underWay
    },
  }
}

/** The same content stays the same object, so that what was built from it is not built again. */
const succeeded = (before: RemoteDocument, fetched: Fetched, now: number): RemoteDocument => ({
  document:
    before.document !== undefined && isDeepStrictEqual(before.document, fetched.document)
      ? before.document
      : fetched.document,
  fetchedAt: now,
})

/** usableMs: how long the last good document may still be used. */
const failed = (before: RemoteDocument, error: string, usableMs: number): RemoteDocument => {
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
