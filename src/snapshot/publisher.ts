// Publishes a snapshot to the servers: tables first, then xDS, so Envoy never sends a key that the tables do not know
// yet. Keys that vanished are kept for a while (decision 33).

import type { CompiledEntry } from '../extauthz/authz-table.js'
import type { CompiledProcEntry } from '../extproc/proc-table.js'
import { differences } from '../incremental/diff.js'
import type { Snapshot } from './build-snapshot.js'
import { LiveRoutes } from './live-routes.js'
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
