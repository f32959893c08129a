// Computes the changes between two versions of the tables, and rebuilds the tables from them in a worker.

import { type AuthzTable, buildAuthzTable, type CompiledEntry } from '../extauthz/authz-table.js'
import { buildProcTable, type CompiledProcEntry, type ProcTable } from '../extproc/proc-table.js'
import { differences } from '../incremental/diff.js'
import type { AuthzEntry } from '../ir/authz-entry.js'
import type { Ir } from '../ir/ir.js'
import type { ProcEntry } from '../ir/proc-entry.js'
import { type EntryTable, RetainedTable } from '../snapshot/retained-table.js'
import type { ListChange } from './messages.js'

/** The parts of the model that both servers read. */
export type Tables = Pick<Ir, 'authz' | 'proc'>

export const NO_TABLES: Tables = { authz: [], proc: [] }

export interface TableChanges {
  readonly authz: ListChange<AuthzEntry>
  readonly proc: ListChange<ProcEntry>
}

export const changesBetween = (before: Tables, now: Tables): TableChanges => ({
  authz: listChange(before.authz, now.authz),
  proc: listChange(before.proc, now.proc),
})

function listChange<Entry extends { readonly key: string }>(
  before: readonly Entry[],
  now: readonly Entry[],
): ListChange<Entry> {
  const { removed, added } = differences(before, now)
  return { removed: removed.map(({ key }) => key), added }
}

export interface WorkerTables {
  readonly authz: EntryTable<CompiledEntry>
  readonly proc: EntryTable<CompiledProcEntry>
  /** Changes both tables, or neither: throws if an entry cannot be compiled. */
  change(changes: TableChanges): void
  /** Drops entries of keys removed at that time or before it, in milliseconds since the epoch. */
  forget(vanishedBy: number): void
}

/** rememberedTokens: tokens that this worker remembers for each provider. */
export function createWorkerTables(rememberedTokens: number, now: () => number): WorkerTables {
  const authz = new RetainedTable<CompiledEntry>()
  const proc = new RetainedTable<CompiledProcEntry>()
  const entries = { authz: new Map<string, AuthzEntry>(), proc: new Map<string, ProcEntry>() }
  let authzTable: AuthzTable | undefined
  let procTable: ProcTable | undefined
  return {
    authz,
    proc,
    change(changes) {
      apply(entries.authz, changes.authz)
      apply(entries.proc, changes.proc)
      const nextAuthz = buildAuthzTable([...entries.authz.values()], authzTable, rememberedTokens)
      const nextProc = buildProcTable([...entries.proc.values()], procTable)
      authzTable = nextAuthz
      procTable = nextProc
      authz.replace(nextAuthz, changes.authz.removed, now())
      proc.replace(nextProc, changes.proc.removed, now())
    },
    forget(vanishedBy) {
      for (const table of [authz, proc]) table.forget(vanishedBy)
    },
  }
}

function apply<Entry extends { readonly key: string }>(
  entries: Map<string, Entry>,
  { removed, added }: ListChange<Entry>,
): void {
  for (const key of removed) entries.delete(key)
  for (const entry of added) entries.set(entry.key, entry)
}
