// The ext_proc part of the model → what a stream finds by the key that Envoy sends: expressions compiled.

import type { GuardEntry, ProcEntry, WellKnownEntry } from '../ir/proc-entry.js'
import { compileGuard, type Guard } from './guard.js'

export type CompiledProcEntry = WellKnownEntry | Guard

export interface ProcTable {
  /** undefined: no such route; the stream is ended with an error. */
  get(key: string): CompiledProcEntry | undefined
}

export const buildProcTable = (entries: readonly ProcEntry[]): ProcTable =>
  new Map(entries.map((entry) => [entry.key, compiled(entry)]))

const guards = new WeakMap<GuardEntry, Guard>()

/** What did not change is not compiled again: its entry is the same object. */
const compiled = (entry: ProcEntry): CompiledProcEntry => {
  if (entry.type === 'well-known') return entry
  const guard = guards.get(entry) ?? compileGuard(entry)
  guards.set(entry, guard)
  return guard
}
