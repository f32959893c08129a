// Lists the listeners and HTTPRoutes of the model for people: where each is served, and what guards it.

import { each, type Work } from '../../kit/turns.js'
import type { AuthzEntry } from '../../model/authz-entry.js'
import type { Gateway, Ir, Listener } from '../../model/ir.js'
import type { ProcEntry } from '../../model/proc-entry.js'
import type { PathMatch, Route } from '../../model/route.js'

/** A port of a Gateway. */
export interface ServedListener {
  /** NAMESPACE/NAME. */
  readonly gateway: string
  readonly port: number
  readonly isTls: boolean
  /** The first host names that have routes; "*" is any. */
  readonly hosts: Sample
}

/** An HTTPRoute that is in force. */
export interface ServedRoute {
  /** NAMESPACE/NAME. */
  readonly name: string
  /** Whether anybody may use it, because no policy decides who may. */
  readonly isOpen: boolean
  /** Whether it refuses some requests because of a problem. */
  readonly isRefusing: boolean
  /** What guards it, in a fixed order: "token", "rules" … */
  readonly guards: readonly string[]
  /** The first places where it is served: HOST/PATH. */
  readonly places: Sample
}

/** The first of many texts, and how many there are. */
export interface Sample {
  readonly first: readonly string[]
  readonly count: number
}

/** Words for what guards a route, in the order in which they are shown. */
const WORDS = [
  'closed without a policy',
  'refuses',
  'token',
  'optional token',
  'permissive token',
  'rules',
  'scopes',
  'origins',
  'limits',
  'guardrail',
  'MCP guard',
  'filtered lists',
  'bound sessions',
  'login',
  'relayed login',
  'audit',
] as const

type Word = (typeof WORDS)[number]

/** Returns the listeners of all Gateways. */
export function* servedListeners({ gateways }: Pick<Ir, 'gateways'>): Work<ServedListener[]> {
  const served: ServedListener[] = []
  for (const gateway of gateways)
    for (const listener of gateway.listeners) served.push(yield* servedListener(gateway, listener))
  return served
}

function* servedListener(gateway: Gateway, { port, chains }: Listener): Work<ServedListener> {
  const hosts = new Texts()
  for (const { virtualHosts } of chains)
    yield* each(virtualHosts, ({ domains, routes }) => {
      if (routes.some(({ name }) => httpRouteOf(name) !== undefined)) hosts.addAll(domains)
    })
  return {
    gateway: `${gateway.namespace}/${gateway.name}`,
    port,
    isTls: chains.some(({ tls }) => tls !== undefined),
    hosts: hosts.sample(),
  }
}

/**
 * Returns all HTTPRoutes of the model: open ones first, then those that refuse requests because of a problem, then the
 * others.
 * @param open NAMESPACE/NAME of the open ones.
 */
export function* servedRoutes(ir: Ir, open: ReadonlySet<string>): Work<readonly ServedRoute[]> {
  const rows = new Map<string, Row>()
  const rowOf = (name: string): Row => {
    const row = rows.get(name) ?? new Row(name)
    rows.set(name, row)
    return row
  }
  yield* each(open, rowOf)
  yield* each(ir.authz, (entry) => rowOf(entry.route).addEntry(entry))
  yield* each(ir.proc, (entry) => rowOf(entry.route).addWord(PROC_WORDS[entry.type](entry)))
  for (const { virtualHosts } of chainsOf(ir))
    for (const { domains, routes } of virtualHosts)
      yield* each(routes, (route) => {
        const name = httpRouteOf(route.name)
        if (name !== undefined) rowOf(name).addRoute(route, domains)
      })
  const served: ServedRoute[] = []
  yield* each(rows.values(), (row) => served.push(row.served(open.has(row.name))))
  return [...served.filter(isFirst), ...served.filter(isSecond), ...served.filter(isLast)]
}

const isFirst = ({ isOpen }: ServedRoute): boolean => isOpen
const isSecond = ({ isOpen, isRefusing }: ServedRoute): boolean => !isOpen && isRefusing
const isLast = ({ isOpen, isRefusing }: ServedRoute): boolean => !isOpen && !isRefusing

const chainsOf = ({ gateways }: Pick<Ir, 'gateways'>) =>
  gateways.flatMap(({ listeners }) => listeners.flatMap(({ chains }) => chains))

/** NAMESPACE/NAME of the HTTPRoute that a route was made for; undefined: it is none's. */
const httpRouteOf = (routeName: string): string | undefined =>
  /^([^/]+\/[^/]+)\/\d+\//.exec(routeName)?.[1]

const PROC_WORDS: Readonly<Record<ProcEntry['type'], (entry: ProcEntry) => Word>> = {
  'well-known': (entry) => ('relay' in entry ? 'relayed login' : 'login'),
  guard: () => 'guardrail',
  'guard-audit': () => 'audit',
  'mcp-guard': () => 'MCP guard',
  'mcp-guard-audit': () => 'audit',
  lists: () => 'filtered lists',
  sessions: () => 'bound sessions',
  'unchecked-body': () => 'rules',
}

const TOKEN_WORDS = {
  Strict: 'token',
  Optional: 'optional token',
  Permissive: 'permissive token',
} as const

/** What is known of one HTTPRoute while the model is read. */
class Row {
  readonly #words = new Set<Word>()
  readonly #places = new Texts()
  readonly #checkedPaths = new Texts()

  constructor(readonly name: string) {}

  addWord(word: Word): void {
    this.#words.add(word)
  }

  addEntry(entry: AuthzEntry): void {
    const { jwt, authorization, lacksPolicy, allowedOrigins, session, audit, isAudited } = entry
    if (lacksPolicy === true) this.#words.add('closed without a policy')
    if (jwt !== undefined) this.#words.add(TOKEN_WORDS[jwt.mode])
    if (session !== undefined) this.#words.add('bound sessions')
    if (authorization !== undefined) {
      const { deny, require, allow, requiredScopes = [] } = authorization
      if (deny.length + require.length + allow.length > 0) this.#words.add('rules')
      if (requiredScopes.length > 0) this.#words.add('scopes')
    }
    if (allowedOrigins !== undefined) this.#words.add('origins')
    if (audit !== undefined || isAudited === true) this.#words.add('audit')
    this.#checkedPaths.addAll(entry.paths.map(pathText))
  }

  addRoute({ action, match, limits, limitsAudit }: Route, domains: readonly string[]): void {
    if (limits !== undefined) this.#words.add('limits')
    if (limitsAudit !== undefined) this.#words.add('audit')
    if (action.type === 'refuse') this.#words.add('refuses')
    // Documents of a login have paths of their own, which are not the route's.
    if (action.type === 'answered') return
    const path = pathText(match.path)
    this.#places.addAll(domains.map((domain) => `${domain}${path}`))
  }

  served(isOpen: boolean): ServedRoute {
    const places = this.#places.sample()
    return {
      name: this.name,
      isOpen,
      isRefusing: this.#words.has('refuses') || this.#words.has('closed without a policy'),
      guards: WORDS.filter((word) => this.#words.has(word)),
      // Beside a mesh the model has no routes, only what is checked.
      places: places.count === 0 ? this.#checkedPaths.sample() : places,
    }
  }
}

function pathText({ type, value }: PathMatch): string {
  if (type === 'RegularExpression') return ` ~ ${value}`
  return type === 'Exact' ? `${value} (exactly)` : value
}

/** How many texts of a sample are kept. */
const KEPT = 3

/** Keeps the first of many texts and counts them, each once. */
class Texts {
  readonly #texts = new Set<string>()
  readonly #first: string[] = []

  addAll(texts: readonly string[]): void {
    for (const text of texts) {
      if (this.#texts.has(text)) continue
      this.#texts.add(text)
      if (this.#first.length < KEPT) this.#first.push(text)
    }
  }

  sample(): Sample {
    return { first: this.#first, count: this.#texts.size }
  }
}
