// Compiles the ext_proc part of the model into a table that streams look up by the key that Envoy sends.

import { createSessionSeal, type SessionSeal } from '../extauthz/oauth/session-seal.js'
import { compileRules } from '../extauthz/rules/compile-rules.js'
import type { CompiledRules } from '../extauthz/rules/judge.js'
import { rulesOfLists } from '../extauthz/rules/listed.js'
import { differences } from '../kit/incremental/diff.js'
import { memoWork } from '../kit/incremental/memo.js'
import { type PersistentMap, persistentMap } from '../kit/incremental/persistent-map.js'
import { mapWork, type Work } from '../kit/turns.js'
import type { Authorization } from '../model/authorization.js'
import type { ForGateways } from '../model/for-gateways.js'
import { namespaceIn } from '../model/names.js'
import type {
  ListsEntry,
  McpGuardAuditEntry,
  McpGuardEntry,
  ProcEntry,
  SessionsEntry,
  UncheckedBodyEntry,
  WellKnownEntry,
} from '../model/proc-entry.js'
import type { SessionBinding } from '../model/session-binding.js'
import type { CompiledLists } from './lists/lists-processor.js'
import type { McpGuard, McpGuardAudit } from './mcp/mcp-guard.js'
import {
  compileAudited,
  compileExpressions,
  compileGuard,
  compileGuardAudit,
  type CompileHeader,
  compileHeader,
  compileWebhooks,
  type Guard,
  type GuardAudit,
} from './webhook/compiled-guard.js'

/** What ext_proc does on a route. */
export type CompiledProcEntry = ForGateways &
  (
    | WellKnownEntry
    | UncheckedBodyEntry
    | Guard
    | GuardAudit
    | CompiledLists
    | CompiledSessions
    | McpGuard
    | McpGuardAudit
  )

/** The table entry of a route with mcp.bindSession alone. */
export type CompiledSessions = Pick<SessionsEntry, 'type' | 'route' | 'policy'> & {
  readonly session: SessionSeal
}

/** Compiled entries by key. */
export interface ProcTable {
  /** Returns the entry for a key. undefined: no such route; the stream ends with an error. */
  get(key: string): CompiledProcEntry | undefined
  /** The namespace of all routes whose bodies are held; undefined: there are none, or several. */
  readonly onlyNamespace: string | undefined
  /** What the next table reuses. */
  readonly compiled: {
    readonly list: readonly ProcEntry[]
    readonly entries: PersistentMap<CompiledProcEntry>
    readonly compileHeader: CompileHeader
  }
}

/** previous: its compiled entries are reused for identical objects. */
export function* procTableWork(list: readonly ProcEntry[], previous?: ProcTable): Work<ProcTable> {
  const known = previous?.compiled
  const compiledOf = known?.compileHeader ?? memoWork(compileHeader)
  const { removed, added } = differences(known?.list ?? [], list)
  const compiled = yield* mapWork(added, function* (entry) {
    yield
    const { key, gateways } = entry
    const own = yield* compile(entry, compiledOf)
    return [key, gateways === undefined ? own : { ...own, gateways }] as const
  })
  const entries = (known?.entries ?? persistentMap<CompiledProcEntry>()).with([
    ...removed.map(({ key }) => [key, undefined] as const),
    ...compiled,
  ])
  return {
    get: (key) => entries.get(key),
    onlyNamespace: onlyNamespaceOf(list),
    compiled: { list, entries, compileHeader: compiledOf },
  }
}

function onlyNamespaceOf(list: readonly ProcEntry[]): string | undefined {
  let only: string | undefined
  for (const { type, route } of list) {
    if (type === 'well-known') continue
    const namespace = namespaceIn(route)
    if (only !== undefined && namespace !== only) return undefined
    only = namespace
  }
  return only
}

function* compile(entry: ProcEntry, compiledOf: CompileHeader): Work<CompiledProcEntry> {
  if ('request' in entry) yield* compileExpressions(entry, compiledOf)
  switch (entry.type) {
    case 'guard':
      return compileGuard(entry, compiledOf)
    case 'guard-audit':
      return compileGuardAudit(entry, compiledOf)
    case 'lists':
      return yield* compileLists(entry)
    case 'sessions':
      return { ...entry, session: createSessionSeal(entry.session) }
    case 'mcp-guard':
      return yield* compileMcpGuard(entry, compiledOf)
    case 'mcp-guard-audit':
      return yield* compileMcpGuardAudit(entry, compiledOf)
    case 'unchecked-body':
    case 'well-known':
      return entry
  }
}

/** Throws for an invalid rule, which the translation has already rejected. */
function* compileLists({ route, policy, authorization, session }: ListsEntry): Work<CompiledLists> {
  const rules = yield* compileListRules(authorization)
  return { type: 'lists', route, ...(policy && { policy }), rules, ...sealOf(session) }
}

/** Throws as compileLists() and compileGuard() do. */
function* compileMcpGuard(entry: McpGuardEntry, compiledOf: CompileHeader): Work<McpGuard> {
  const rules = entry.authorization && (yield* compileListRules(entry.authorization))
  const webhooks = compileWebhooks(entry, 'mcp.guard', compiledOf)
  const own = { ...(rules && { rules }), ...sealOf(entry.session) }
  return { type: 'mcp-guard', route: entry.route, ...webhooks, ...own }
}

const sealOf = (session: SessionBinding | undefined): { readonly session?: SessionSeal } =>
  session === undefined ? {} : { session: createSessionSeal(session) }

/** Throws as compileMcpGuard() does. */
function* compileMcpGuardAudit(
  { type, route, authorization, ...webhooks }: McpGuardAuditEntry,
  compiledOf: CompileHeader,
): Work<McpGuardAudit> {
  const rules = authorization && (yield* compileListRules(authorization))
  const audited = compileAudited(webhooks, 'mcp.guard', compiledOf)
  return { type, route, ...audited, ...(rules && { rules }) }
}

function* compileListRules(authorization: Authorization): Work<CompiledRules> {
  const rules = yield* compileRules(authorization)
  if (rules === undefined) throw new Error('a rule of lists does not compile')
  return rulesOfLists(rules)
}
