// Publishes a snapshot to the servers: tables first, then xDS, so Envoy never sends a key that the tables do not know
// yet. Keys that vanished are kept for a while (decision 33).

import type { CompiledEntry } from '../../extauthz/authz-table.js'
import type { CompiledProcEntry } from '../../extproc/proc-table.js'
import { type Differences, differences } from '../../kit/incremental/diff.js'
import type { Snapshot } from './build-snapshot.js'
import { type EntryTable, RetainedTable } from './retained-table.js'

/** What the publisher is created with. */
export interface PublisherDeps {
  /** Other processes that answer from the tables; publish() resolves when all of them have these. Absent: none. */
  readonly others?:
    | {
        publish(tables: Pick<Snapshot['ir'], 'authz' | 'proc'>): Promise<void>
        /** routes: as for onRoutesGone(). */
        forget(vanishedBy: number, routes: readonly string[]): void
      }
    | undefined
  /** Snapshot cache of the ADS server. */
  readonly cache: { set(xds: Snapshot['xds']): void }
  /** Called with HTTPRoutes of which no entry is kept any more. */
  onRoutesGone?(routes: readonly string[]): void
  /** Whether every connected Envoy has accepted the last configuration that it was sent. */
  settled(): boolean
  /** Current time in milliseconds since the epoch. */
  now(): number
  /** Calls back once after `ms`, unless the returned function is called before. */
  startTimer(callback: () => void, ms: number): () => void
}

/** Publishes snapshots. */
export interface Publisher {
  /** Publishes the snapshot unless its revision is the current one; returns whether it did. */
  publish(snapshot: Snapshot): boolean
  /** Returns the last published snapshot; undefined: none yet. */
  current(): Snapshot | undefined
  readonly authz: EntryTable<CompiledEntry>
  readonly proc: EntryTable<CompiledProcEntry>
  close(): void
}

const KEEP_AT_LEAST_MS = 60_000
const KEEP_AT_MOST_MS = 600_000
const LOOK_EVERY_MS = 5_000

/** Creates a publisher that has published nothing yet. */
export function createPublisher(deps: PublisherDeps): Publisher {
  const authz = new RetainedTable<CompiledEntry>()
  const proc = new RetainedTable<CompiledProcEntry>()
  const routes = new LiveRoutes()
  let current: Snapshot | undefined
  let stopTimer: (() => void) | undefined

  const forgetOld = (): void => {
    stopTimer = undefined
    const kept = authz.size + proc.size
    const age = deps.settled() ? KEEP_AT_LEAST_MS : KEEP_AT_MOST_MS
    const vanishedBy = deps.now() - age
    for (const table of [authz, proc]) table.forget(vanishedBy)
    const gone = routes.forget(vanishedBy)
    deps.others?.forget(vanishedBy, gone)
    if (gone.length > 0) deps.onRoutesGone?.(gone)
    // Once more after the last: other processes lost their entries a little later than this one.
    lookLater(kept)
  }
  const lookLater = (kept = authz.size + proc.size): void => {
    if (stopTimer === undefined && kept > 0) stopTimer = deps.startTimer(forgetOld, LOOK_EVERY_MS)
  }

  return {
    publish(snapshot) {
      if (snapshot.revision === current?.revision) return false
      const { ir, authzTable, procTable, xds } = snapshot
      const now = deps.now()
      const ofAuthz = differences(current?.ir.authz ?? [], ir.authz)
      const ofProc = differences(current?.ir.proc ?? [], ir.proc)
      authz.replace(authzTable, keysOf(ofAuthz.removed), now)
      proc.replace(procTable, keysOf(ofProc.removed), now)
      routes.change(ofAuthz, now)
      routes.change(ofProc, now)
      current = snapshot
      if (deps.others === undefined) deps.cache.set(xds)
      else void deps.others.publish(ir).then(() => deps.cache.set(xds))
      lookLater()
      return true
    },
    current: () => current,
    authz,
    proc,
    close: () => stopTimer?.(),
  }
}

const keysOf = (entries: readonly { readonly key: string }[]): readonly string[] =>
  entries.map(({ key }) => key)

// Knows which HTTPRoutes the tables have entries of, and which have had none for a while.

interface OfRoute {
  /** NAMESPACE/NAME. */
  readonly route: string
}

/** The HTTPRoutes with entries in the tables. */
class LiveRoutes {
  /** Number of entries by route. */
  readonly #entries = new Map<string, number>()
  /** When the last entry of a route vanished, in milliseconds since the epoch. */
  readonly #gone = new Map<string, number>()

  change({ removed, added }: Differences<OfRoute>, now: number): void {
    for (const { route } of added) this.#count(route, 1, now)
    for (const { route } of removed) this.#count(route, -1, now)
  }

  /** Returns the routes that vanished at or before that time and have not come back, once. */
  forget(vanishedBy: number): readonly string[] {
    const forgotten: string[] = []
    for (const [route, since] of this.#gone) if (since <= vanishedBy) forgotten.push(route)
    for (const route of forgotten) this.#gone.delete(route)
    return forgotten
  }

  #count(route: string, by: 1 | -1, now: number): void {
    const entries = (this.#entries.get(route) ?? 0) + by
    if (entries > 0) {
      this.#entries.set(route, entries)
      this.#gone.delete(route)
    } else {
      this.#entries.delete(route)
      this.#gone.set(route, now)
    }
  }
}
