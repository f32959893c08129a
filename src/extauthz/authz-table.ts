// What ext_authz reads at each check: the entries of the model, compiled, by their key.

import { compileRule, type Rule } from '../cel/rule.js'
import type { AuthzEntry, Authorization, JwtAuthentication } from '../ir/authz-entry.js'
import { HeaderNames } from './header-names.js'
import { compileProvider, type Provider, type Providers } from './provider.js'

export interface AuthzTable {
  /** undefined: no such key; the request is refused. */
  get(key: string): CompiledEntry | undefined
  readonly size: number
  readonly compiled: CompiledParts
}

/** What the next table may take over. */
interface CompiledParts {
  readonly entries: ReadonlyMap<string, CompiledEntry>
  readonly providers: Providers
}

export interface CompiledEntry {
  readonly entry: AuthzEntry
  readonly jwt?: CompiledJwt
  readonly rules?: CompiledRules
  /** A rule of it does not compile: every request is refused (decision 4). */
  readonly broken: boolean
  /** The request headers that a check of this entry reads. */
  readonly headers: HeaderNames
  readonly readsSource: boolean
}

export interface CompiledJwt {
  readonly mode: JwtAuthentication['mode']
  readonly forwardToken: boolean
  readonly providers: readonly Provider[]
}

export interface CompiledRules {
  readonly deny: readonly Rule[]
  readonly require: readonly Rule[]
  readonly allow: readonly Rule[]
}

/** previous: entries that are the same objects are taken over; so are providers, with the tokens they remember, whose content is the same. */
export function buildAuthzTable(entries: readonly AuthzEntry[], previous?: AuthzTable): AuthzTable {
  const providers: Providers = new Map()
  const known = previous?.compiled
  const compiled = new Map<string, CompiledEntry>()
  for (const entry of entries) {
    const before = known?.entries.get(entry.key)
    const same = before?.entry === entry ? before : undefined
    compiled.set(entry.key, compileEntry(entry, known?.providers ?? new Map(), providers, same))
  }
  return {
    get: (key) => compiled.get(key),
    size: compiled.size,
    compiled: { entries: compiled, providers },
  }
}

function compileEntry(
  entry: AuthzEntry,
  known: ReadonlyMap<string, Provider>,
  fresh: Providers,
  same: CompiledEntry | undefined,
): CompiledEntry {
  const providers = entry.jwt?.providers.map((provider) => compileProvider(provider, known, fresh))
  if (same !== undefined) return same
  const rules = entry.authorization && compileRules(entry.authorization)
  const all = rules === undefined ? [] : [...rules.deny, ...rules.require, ...rules.allow]
  return {
    entry,
    ...(entry.jwt && { jwt: { ...entry.jwt, providers: providers ?? [] } }),
    ...(rules && { rules }),
    broken: rules === undefined && entry.authorization !== undefined,
    headers: headersOf(entry, all),
    readsSource: all.some((rule) => rule.reads.roots.has('source')),
  }
}

function headersOf(entry: AuthzEntry, rules: readonly Rule[]): HeaderNames {
  const own = ['authorization', ...(entry.challenge ? ['x-forwarded-proto'] : [])]
  const read = rules.map((rule) => rule.reads.requestHeaders)
  return new HeaderNames(
    read.includes('all') ? 'all' : [...own, ...read.flatMap((names) => [...names])],
  )
}

/** undefined: one of them is no rule. The translation refuses such policies; this is the second look. */
function compileRules(authorization: Authorization): CompiledRules | undefined {
  const deny = compileAll(authorization.deny)
  const require = compileAll(authorization.require)
  const allow = compileAll(authorization.allow)
  return deny && require && allow && { deny, require, allow }
}

function compileAll(sources: readonly string[]): readonly Rule[] | undefined {
  const rules: Rule[] = []
  for (const source of sources) {
    const compiled = compileRule(source)
    if (!compiled.ok) return undefined
    rules.push(compiled.value)
  }
  return rules
}
