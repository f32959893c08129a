// The table that ext_authz reads at each check: the model's entries, compiled, by key.

import { differences } from '../kit/incremental/diff.js'
import { memoWork } from '../kit/incremental/memo.js'
import { type PersistentMap, persistentMap } from '../kit/incremental/persistent-map.js'
import { atOnce, mapWork, type Work } from '../kit/turns.js'
import type { AuthzEntry, JwtAuthentication, JwtProvider } from '../model/authz-entry.js'
import type { ForGateways } from '../model/for-gateways.js'
import { PARTIAL_BODY_HEADER } from '../model/names.js'
import type { Reads } from './cel/reads.js'
import { HeaderNames } from './header-names.js'
import { MCP_HEADERS } from './mcp/http-message.js'
import { PARAM_PREFIX } from './mcp/param-headers.js'
import { createSessionSeal, SESSION_HEADER, type SessionSeal } from './oauth/session-seal.js'
import { type CompiledPaths, compilePaths } from './path-check.js'
import { allRules, compileRules } from './rules/compile-rules.js'
import type { CompiledRules } from './rules/judge.js'
import { JoseHeaders } from './token/jws.js'
import {
  type CompiledProvider,
  type CompiledProviders,
  type ContentId,
  countUses,
  createContentId,
} from './token/provider.js'
import { DEFAULT_REMEMBERED_TOKENS } from './token/token-memory.js'
import {
  type CompiledValues,
  compileExpressions,
  type CompileOneValue,
  compileOneValue,
  compileValues,
} from './values-for-envoy.js'

/** Compiled entries by key. */
export interface AuthzTable {
  /** undefined: the key is unknown, and the request is denied. */
  get(key: string): CompiledEntry | undefined
  readonly size: number
  readonly compiled: CompiledParts
}

/** State that the next table reuses. */
interface CompiledParts {
  readonly list: readonly AuthzEntry[]
  readonly entries: PersistentMap<CompiledEntry>
  readonly providers: CompiledProviders
  readonly memos: Memos
}

/** Functions that keep their results from table to table. */
interface Memos {
  readonly contentId: ContentId
  readonly headers: JoseHeaders
  readonly compileOneValue: CompileOneValue
}

/** An entry of the model with its compiled keys and expressions. */
export interface CompiledEntry extends ForGateways {
  readonly entry: AuthzEntry
  readonly paths: CompiledPaths
  readonly jwt?: CompiledJwt
  readonly rules?: CompiledRules
  /** Values sent to Envoy for allowed requests; absent: the route has none. */
  readonly values?: CompiledValues
  /** Whether one of its expressions does not compile; every request is then refused (decision 4). */
  readonly broken: boolean
  /** Opens the sessions of callers; absent: they are bound to nobody. */
  readonly session?: SessionSeal
  /** The request headers that a check of this entry reads. */
  readonly headers: HeaderNames
  readonly readsSource: boolean
  /** Whether a rule reads the variable mcp; bodies are then read before the rules run. */
  readonly readsMcp: boolean
  /** What policies of mode Audit decide about allowed requests. */
  readonly audit?: CompiledEntry
}

/** The compiled jwtAuthentication of an entry. */
export interface CompiledJwt {
  readonly mode: JwtAuthentication['mode']
  readonly forwardToken: boolean
  readonly providers: readonly CompiledProvider[]
  /** Shared by all entries. */
  readonly headers: JoseHeaders
}

/** Reuses previous entries that are the same objects, and providers of equal content with the tokens they remember. */
export function* authzTableWork(
  list: readonly AuthzEntry[],
  previous?: AuthzTable,
  rememberedTokens = DEFAULT_REMEMBERED_TOKENS,
): Work<AuthzTable> {
  const known = previous?.compiled
  const { removed, added } = differences(known?.list ?? [], list)
  const memos = known?.memos ?? {
    contentId: createContentId(),
    headers: new JoseHeaders(),
    compileOneValue: memoWork(compileOneValue),
  }
  const providers = yield* countUses(
    known?.providers ?? persistentMap(),
    { removed: removed.flatMap(providersOf), added: added.flatMap(providersOf) },
    { contentId: memos.contentId, rememberedTokens },
  )
  const compiled = yield* mapWork(added, function* (entry) {
    yield
    return [entry.key, yield* compileEntry(entry, { ...memos, providers })] as const
  })
  const entries = (known?.entries ?? persistentMap<CompiledEntry>()).with([
    ...removed.map(({ key }) => [key, undefined] as const),
    ...compiled,
  ])
  return {
    get: (key) => entries.get(key),
    size: list.length,
    compiled: { list, entries, providers, memos },
  }
}

/** Like authzTableWork(), at once. */
export const buildAuthzTable = (...inputs: Parameters<typeof authzTableWork>): AuthzTable =>
  atOnce(authzTableWork(...inputs))

/** Returns all providers of the entry, those of its audit included. */
const providersOf = ({ jwt, audit }: AuthzEntry): readonly JwtProvider[] => [
  ...(jwt?.providers ?? []),
  ...(audit?.jwt?.providers ?? []),
]

/** What entries are compiled with. */
interface Known extends Memos {
  readonly providers: CompiledProviders
}

function* compileEntry(entry: AuthzEntry, known: Known): Work<CompiledEntry> {
  const compiled = yield* compileOne(entry, known)
  if (entry.audit === undefined) return compiled
  const { key, route, paths } = entry
  return { ...compiled, audit: yield* compileOne({ key, route, paths, ...entry.audit }, known) }
}

function* compileOne(entry: AuthzEntry, known: Known): Work<CompiledEntry> {
  const providers = (entry.jwt?.providers ?? []).flatMap(
    (provider) => known.providers.get(known.contentId(provider))?.provider ?? [],
  )
  const paths = yield* compilePaths(entry.paths)
  const rules = entry.authorization && (yield* compileRules(entry.authorization))
  const all = rules === undefined ? [] : allRules(rules)
  const readsMcp = all.some((rule) => rule.reads.roots.has('mcp'))
  yield* compileExpressions(entry, known.compileOneValue)
  const values = compileValues(entry, known.compileOneValue)
  const reads = [...all, ...(values?.all ?? [])].map((expression) => expression.reads)
  return {
    entry,
    paths,
    ...(entry.gateways && { gateways: entry.gateways }),
    ...(entry.jwt && { jwt: { ...entry.jwt, providers, headers: known.headers } }),
    ...(rules && { rules }),
    ...(values && { values }),
    ...(entry.session && { session: createSessionSeal(entry.session) }),
    broken: (rules === undefined && entry.authorization !== undefined) || values?.isBroken === true,
    headers: headersOf(
      reads,
      [
        ...(entry.allowedOrigins === undefined ? [] : ['origin']),
        ...(entry.session === undefined ? [] : [SESSION_HEADER]),
        ...(readsMcp ? [...MCP_HEADERS, PARTIAL_BODY_HEADER] : []),
      ],
      readsMcp ? PARAM_PREFIX : undefined,
    ),
    readsSource: reads.some(({ roots }) => roots.has('source')),
    readsMcp,
  }
}

function headersOf(
  reads: readonly Reads[],
  more: readonly string[],
  prefix: string | undefined,
): HeaderNames {
  const own = ['authorization', 'cookie', 'x-forwarded-proto', ...more]
  const read = reads.map(({ requestHeaders }) => requestHeaders)
  return new HeaderNames(
    read.includes('all') ? 'all' : [...own, ...read.flatMap((names) => [...names])],
    prefix,
  )
}
