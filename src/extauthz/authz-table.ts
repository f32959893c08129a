// What ext_authz reads at each check: the entries of the model, compiled, by their key.

import type { Reads } from '../cel/reads.js'
import { differences } from '../incremental/diff.js'
import { type PersistentMap, persistentMap } from '../incremental/persistent-map.js'
import type { AuthzEntry, JwtAuthentication, JwtProvider } from '../ir/authz-entry.js'
import { MCP_HEADERS } from '../mcp/http-message.js'
import { allRules, compileRules } from '../rules/compile-rules.js'
import type { CompiledRules } from '../rules/judge.js'
import { HeaderNames } from './header-names.js'
import { type CompiledProvider, type CompiledProviders, countUses, providerOf } from './provider.js'
import { DEFAULT_REMEMBERED_TOKENS } from './token-memory.js'
import { type CompiledValues, compileValues } from './values-for-envoy.js'

export interface AuthzTable {
  /** undefined: no such key; the request is refused. */
  get(key: string): CompiledEntry | undefined
  readonly size: number
  readonly compiled: CompiledParts
}

/** What the next table takes over. */
interface CompiledParts {
  readonly list: readonly AuthzEntry[]
  readonly entries: PersistentMap<CompiledEntry>
  readonly providers: CompiledProviders
}

export interface CompiledEntry {
  readonly entry: AuthzEntry
  readonly jwt?: CompiledJwt
  readonly rules?: CompiledRules
  /** What Envoy is told of requests that are let in; absent: nothing of this route's own. */
  readonly values?: CompiledValues
  /** An expression of it does not compile: every request is refused (decision 4). */
  readonly broken: boolean
  /** The request headers that a check of this entry reads. */
  readonly headers: HeaderNames
  readonly readsSource: boolean
  /** A rule reads the variable mcp: bodies are read before the rules. */
  readonly readsMcp: boolean
}

export interface CompiledJwt {
  readonly mode: JwtAuthentication['mode']
  readonly forwardToken: boolean
  readonly providers: readonly CompiledProvider[]
}

/** previous: entries that are the same objects are taken over; so are providers, with the tokens they remember, whose content is the same. */
export function buildAuthzTable(
  list: readonly AuthzEntry[],
  previous?: AuthzTable,
  rememberedTokens = DEFAULT_REMEMBERED_TOKENS,
): AuthzTable {
  const known = previous?.compiled
  const { removed, added } = differences(known?.list ?? [], list)
  const providers = countUses(
    known?.providers ?? persistentMap(),
    { removed: removed.flatMap(providersOf), added: added.flatMap(providersOf) },
    rememberedTokens,
  )
  const entries = (known?.entries ?? persistentMap<CompiledEntry>()).with([
    ...removed.map(({ key }) => [key, undefined] as const),
    ...added.map((entry) => [entry.key, compileEntry(entry, providers)] as const),
  ])
  return {
    get: (key) => entries.get(key),
    size: list.length,
    compiled: { list, entries, providers },
  }
}

const providersOf = ({ jwt }: AuthzEntry): readonly JwtProvider[] => jwt?.providers ?? []

function compileEntry(entry: AuthzEntry, known: CompiledProviders): CompiledEntry {
  const providers = providersOf(entry).flatMap((provider) => providerOf(known, provider) ?? [])
  const rules = entry.authorization && compileRules(entry.authorization)
  const all = rules === undefined ? [] : allRules(rules)
  const readsMcp = all.some((rule) => rule.reads.roots.has('mcp'))
  const values = compileValues(entry)
  const reads = [...all, ...(values?.all ?? [])].map((expression) => expression.reads)
  return {
    entry,
    ...(entry.jwt && { jwt: { ...entry.jwt, providers } }),
    ...(rules && { rules }),
    ...(values && { values }),
    broken: (rules === undefined && entry.authorization !== undefined) || values?.isBroken === true,
    headers: headersOf(reads, [
      ...(entry.allowedOrigins === undefined ? [] : ['origin']),
      ...(readsMcp ? MCP_HEADERS : []),
      ...(values?.requestAdd.map(({ name }) => name) ?? []),
      ...(entry.isRelay === true ? ['cookie'] : []),
    ]),
    readsSource: reads.some(({ roots }) => roots.has('source')),
    readsMcp,
  }
}

function headersOf(reads: readonly Reads[], more: readonly string[]): HeaderNames {
  const own = ['authorization', 'x-forwarded-proto', ...more]
  const read = reads.map(({ requestHeaders }) => requestHeaders)
  return new HeaderNames(
    read.includes('all') ? 'all' : [...own, ...read.flatMap((names) => [...names])],
  )
}
