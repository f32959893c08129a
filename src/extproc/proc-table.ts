// The ext_proc part of the model → what a stream finds by the key that Envoy sends.

import type { ProcEntry } from '../ir/proc-entry.js'

export interface ProcTable {
  /** undefined: no such route; the stream is ended with an error. */
  get(key: string): ProcEntry | undefined
}

export const buildProcTable = (entries: readonly ProcEntry[]): ProcTable =>
  new Map(entries.map((entry) => [entry.key, entry]))
