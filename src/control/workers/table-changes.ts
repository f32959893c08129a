// Computes the changes between two versions of the tables, in parts, and rebuilds the tables from them in a worker.

import { type AuthzTable, authzTableWork, type CompiledEntry } from '../../extauthz/authz-table.js'
import { type CompiledProcEntry, type ProcTable, procTableWork } from '../../extproc/proc-table.js'
import { differences } from '../../kit/incremental/diff.js'
import { each, type Work } from '../../kit/turns.js'
import type { AuthzEntry } from '../../model/authz-entry.js'
import type { Ir } from '../../model/ir.js'
import type { ProcEntry } from '../../model/proc-entry.js'
import { type EntryTable, RetainedTable } from '../publish/retained-table.js'
import type { ListChange, TableChanges, ToWorker } from './messages.js'

/** The parts of the model that both servers read. */
export type Tables = Pick<Ir, 'authz' | 'proc'>

/** Tables without entries. */
export const NO_TABLES: Tables = { authz: [], proc: [] }

/** Maximum number of keys and of entries in a part: a worker reads each part without a pause. */
const PART = 64

/** Returns the changes that turn one version of the tables into another. */
export const changesBetween = (before: Tables, now: Tables): TableChanges => ({
  authz: listChange(before.authz, now.authz),
  proc: listChange(before.proc, now.proc),
})

/** Splits the changes into parts; returns at least one. */
export function partsOf({ authz, proc }: TableChanges): readonly TableChanges[] {
  const lists = [authz.removed, authz.added, proc.removed, proc.added]
  const count = Math.max(1, ...lists.map(({ length }) => Math.ceil(length / PART)))
  const partOf = <Element>(list: readonly Element[], index: number): readonly Element[] =>
    list.slice(index * PART, (index + 1) * PART)
  return Array.from({ length: count }, (_, index) => ({
    authz: { removed: partOf(authz.removed, index), added: partOf(authz.added, index) },
    proc: { removed: partOf(proc.removed, index), added: partOf(proc.added, index) },
  }))
}

function listChange<Entry extends { readonly key: string }>(
  before: readonly Entry[],
  now: readonly Entry[],
): ListChange<Entry> {
  const { removed, added } = differences(before, now)
  return { removed: removed.map(({ key }) => key), added }
}

/** The tables of a worker. */
export interface WorkerTables {
  readonly authz: EntryTable<CompiledEntry>
  readonly proc: EntryTable<CompiledProcEntry>
  /**
   * Changes both tables at its end, or neither: throws if an entry cannot be compiled. Yields after each part and each
   * compiled entry.
   */
  change(parts: readonly TableChanges[]): Work<void>
  /** Drops entries of keys removed at that time or before it, in milliseconds since the epoch. */
  forget(vanishedBy: number): void
}

/** How many tokens are remembered for each provider, by this number of workers together. */
export interface TokenLimits {
  readonly rememberedTokens: number
  readonly workers: number
}

/** Creates the tables of one worker, which remembers its part of the tokens. */
export function createWorkerTables(limits: TokenLimits, now: () => number): WorkerTables {
  const rememberedTokens = Math.floor(limits.rememberedTokens / limits.workers)
  const authz = new RetainedTable<CompiledEntry>()
  const proc = new RetainedTable<CompiledProcEntry>()
  const entries: Entries = { authz: new Map(), proc: new Map() }
  let authzTable: AuthzTable | undefined
  let procTable: ProcTable | undefined
  return {
    authz,
    proc,
    *change(parts) {
      yield* each(parts, (part) => remove(entries, part))
      yield* each(parts, (part) => add(entries, part))
      const list = [...entries.authz.values()]
      authzTable = yield* authzTableWork(list, authzTable, rememberedTokens)
      procTable = yield* procTableWork([...entries.proc.values()], procTable)
      const removedFrom = (table: keyof TableChanges): readonly string[] =>
        parts.flatMap((part) => part[table].removed)
      authz.replace(authzTable, removedFrom('authz'), now())
      proc.replace(procTable, removedFrom('proc'), now())
    },
    forget(vanishedBy) {
      for (const table of [authz, proc]) table.forget(vanishedBy)
    },
  }
}

interface Entries {
  readonly authz: Map<string, AuthzEntry>
  readonly proc: Map<string, ProcEntry>
}

function remove({ authz, proc }: Entries, part: TableChanges): void {
  for (const key of part.authz.removed) authz.delete(key)
  for (const key of part.proc.removed) proc.delete(key)
}

function add({ authz, proc }: Entries, part: TableChanges): void {
  for (const entry of part.authz.added) authz.set(entry.key, entry)
  for (const entry of part.proc.added) proc.set(entry.key, entry)
}

/** Makes the messages with the changes as they are taken, in their order. All workers that take them share the parts. */
export function tableMessages(sequence: number, before: Tables, now: Tables): Iterable<ToWorker> {
  let shared: readonly TableChanges[] | undefined
  return {
    *[Symbol.iterator]() {
      const parts = (shared ??= partsOf(changesBetween(before, now)))
      for (const [index, changes] of parts.entries())
        yield { type: 'tables', sequence, changes, isLast: index === parts.length - 1 }
    },
  }
}
