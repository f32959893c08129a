// The ext_proc part of the model → what a stream finds by the key that Envoy sends: expressions compiled.

import { differences } from '../incremental/diff.js'
import { type PersistentMap, persistentMap } from '../incremental/persistent-map.js'
import type { ProcEntry, WellKnownEntry } from '../ir/proc-entry.js'
import { compileGuard, type Guard } from './webhook/compiled-guard.js'

export type CompiledProcEntry = WellKnownEntry | Guard

export interface ProcTable {
  /** undefined: no such route; the stream is ended with an error. */
  get(key: string): CompiledProcEntry | undefined
  /** What the next table takes over. */
  readonly compiled: {
    readonly list: readonly ProcEntry[]
    readonly entries: PersistentMap<CompiledProcEntry>
  }
}

/** previous: entries that are the same objects are taken over, not compiled again. */
export function buildProcTable(list: readonly ProcEntry[], previous?: ProcTable): ProcTable {
  const known = previous?.compiled
  const { removed, added } = differences(known?.list ?? [], list)
  const entries = (known?.entries ?? persistentMap<CompiledProcEntry>()).with([
    ...removed.map(({ key }) => [key, undefined] as const),
    ...added.map((entry) => [entry.key, compile(entry)] as const),
  ])
  return { get: (key) => entries.get(key), compiled: { list, entries } }
}

const compile = (entry: ProcEntry): CompiledProcEntry =>
  entry.type === 'guard' ? compileGuard(entry) : entry
