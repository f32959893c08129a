// The ext_proc part of the model → what a stream finds by the key that Envoy sends: expressions compiled.

import type { ProcEntry, WellKnownEntry } from '../ir/proc-entry.js'
import { compileGuard, type Guard } from './guard.js'

export type CompiledProcEntry = WellKnownEntry | Guard

export interface ProcTable {
  /** undefined: no such route; the stream is ended with an error. */
  get(key: string): CompiledProcEntry | undefined
  /** What the next table may take over, by key. */
  readonly parts: ReadonlyMap<string, CompiledPart>
}

interface CompiledPart {
  readonly entry: ProcEntry
  readonly compiled: CompiledProcEntry
}

/** previous: entries that are the same objects are taken over, not compiled again. */
export function buildProcTable(entries: readonly ProcEntry[], previous?: ProcTable): ProcTable {
  const parts = new Map<string, CompiledPart>()
  for (const entry of entries) {
    const before = previous?.parts.get(entry.key)
    parts.set(entry.key, before?.entry === entry ? before : { entry, compiled: compile(entry) })
  }
  return { get: (key) => parts.get(key)?.compiled, parts }
}

const compile = (entry: ProcEntry): CompiledProcEntry =>
  entry.type === 'guard' ? compileGuard(entry) : entry
