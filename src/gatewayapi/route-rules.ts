// One rule of an HTTPRoute, with the policies on the route → its Envoy routes and the entries of the two tables.

import type { AuthzEntry } from '../ir/authz-entry.js'
import type { Destination } from '../ir/destination.js'
import { routeKey, routeName } from '../ir/names.js'
import type { WellKnownEntry } from '../ir/proc-entry.js'
import type { Cors, Route, RouteAction, RouteMatch, Timeouts } from '../ir/route.js'
import type { HttpRouteRule, HttpRouteSpec } from '../resources/http-route.js'
import type { Resource } from '../resources/resources.js'
import type { Attachment } from './attachments.js'
import type { BackendProblem } from './backends.js'
import type { Context } from './context.js'
import { translateFilters, type Filters } from './filters.js'
import { extendCorsForMcp } from './mcp-cors.js'
import type { Mcp } from './mcp.js'
import { translateBackends, type RouteBackends } from './route-backends.js'
import { translateMatch } from './route-matches.js'
import { rankOf, type OrderedRoute } from './route-order.js'
import { authzEntry, wellKnownEntry } from './table-entries.js'
import { ruleProblems } from './unimplemented-fields.js'
import { coveredRoots, isWellKnown, rootName } from './well-known-routes.js'
import { keyOf } from './world.js'

export type HttpRoute = Resource<HttpRouteSpec>

export interface RuleInput {
  readonly route: HttpRoute
  readonly index: number
  readonly rule: HttpRouteRule
  readonly attachment: Attachment
  /** Why the whole route refuses; empty: it does not. */
  readonly refusals: readonly string[]
}

export interface TranslatedRule {
  readonly routes: readonly OrderedRoute[]
  readonly authz: readonly AuthzEntry[]
  readonly proc: readonly WellKnownEntry[]
  readonly destinations: readonly Destination[]
  readonly uses: readonly string[]
  readonly refProblems: readonly BackendProblem[]
  /** Of what the HTTPRoute itself says; the rule refuses for them. */
  readonly problems: readonly string[]
  /** Headers that were added for MCP clients. */
  readonly corsAdded: readonly string[]
}

const FILTERS = [
  'CORS',
  'RequestHeaderModifier',
  'ResponseHeaderModifier',
  'URLRewrite',
  'RequestRedirect',
] as const

export function translateRule(context: Context, input: RuleInput): TranslatedRule {
  const { route, rule, index, attachment } = input
  const filters = translateFilters(rule.filters, FILTERS)
  const backends = translateBackends(
    context,
    route.metadata.namespace,
    rule,
    filters.rewrite?.hostname !== undefined,
  )
  const matches = rule.matches.map(translateMatch)
  const problems = [
    ...matches.flatMap((match) => (match.ok ? [] : [match.error])),
    ...filters.problems,
    ...prefixProblems(rule, filters),
    ...(filters.redirect !== undefined && rule.backendRefs.length > 0
      ? ['filter RequestRedirect and backendRefs exclude each other']
      : []),
    ...backends.problems,
    ...ruleProblems(route.unsupported, index),
  ]
  const mcp = attachment.jwt?.jwt?.mcp
  const cors = corsOf(filters.cors, mcp)
  const action = actionOf(input, problems, filters, backends)
  const build = new RouteBuilder(input, action, filters, cors?.cors)
  const routes = matches.flatMap((match, position) =>
    match.ok ? build.routes(match.value, position) : [],
  )
  return {
    routes,
    authz: authzEntry(input, routes),
    proc: wellKnownEntry(input, routes),
    destinations: action.type === 'forward' ? backends.destinations : [],
    uses: backends.uses,
    refProblems: backends.refProblems,
    problems,
    corsAdded: cors?.added ?? [],
  }
}

function corsOf(cors: Cors | undefined, mcp: Mcp | undefined) {
  if (cors === undefined) return undefined
  return mcp?.spec.corsHeaders === 'Extended' ? extendCorsForMcp(cors) : { cors, added: [] }
}

function prefixProblems(rule: HttpRouteRule, { rewrite, redirect }: Filters): readonly string[] {
  const path = rewrite?.path ?? redirect?.path
  return path?.type === 'ReplacePrefixMatch' &&
    rule.matches.some((match) => match.path.type !== 'PathPrefix')
    ? ['ReplacePrefixMatch needs every match of its rule to be a PathPrefix']
    : []
}

function actionOf(
  { rule, attachment, refusals }: RuleInput,
  problems: readonly string[],
  filters: Filters,
  backends: RouteBackends,
): RouteAction {
  const refuse = (body: string): RouteAction => ({ type: 'refuse', status: 500, body })
  if (refusals.length > 0) return refuse('The policy of this route is not valid.')
  if (problems.length > 0) return refuse('This route is not valid.')
  if (filters.redirect !== undefined) return filters.redirect
  if (backends.weighted.every(({ weight }) => weight === 0))
    return refuse('This route has no backend.')
  const isMcp = attachment.jwt?.jwt?.mcp !== undefined
  return {
    type: 'forward',
    destinations: backends.weighted,
    ...(filters.rewrite === undefined ? {} : { rewrite: filters.rewrite }),
    timeouts: timeoutsOf(rule, backends.requestTimeoutMs, isMcp),
    replaceBackendCors: isMcp && filters.cors !== undefined,
    allowUpgrades: attachment.jwt === undefined && attachment.authorization === undefined,
  }
}

/** Decisions 13b and 21: an MCP route streams without end unless somebody says how long it may take. */
function timeoutsOf(
  { timeouts }: HttpRouteRule,
  policyMs: number | undefined,
  isMcp: boolean,
): Timeouts {
  // Without an own limit on the whole, Envoy's default of 15 s would cut a longer one on the backend short.
  const whole = timeouts.request ?? timeouts.backendRequest ?? (isMcp ? 0 : undefined)
  const requestMs = shorter(whole, policyMs)
  return {
    ...(requestMs === undefined ? {} : { requestMs }),
    ...(timeouts.backendRequest === undefined ? {} : { backendRequestMs: timeouts.backendRequest }),
    ...(isMcp ? { idleMs: 0 } : {}),
  }
}

/** 0 is no limit at all. */
const shorter = (whole: number | undefined, policyMs: number | undefined): number | undefined =>
  policyMs === undefined || (whole !== undefined && whole > 0 && whole < policyMs)
    ? whole
    : policyMs

class RouteBuilder {
  readonly #key: string
  readonly #isProtected: boolean
  readonly #isMcp: boolean

  constructor(
    readonly input: RuleInput,
    readonly action: RouteAction,
    readonly filters: Filters,
    readonly cors: Cors | undefined,
  ) {
    const { route, index, attachment } = input
    this.#key = routeKey(route.metadata.namespace, route.metadata.name, index)
    this.#isProtected = attachment.jwt !== undefined || attachment.authorization !== undefined
    this.#isMcp = attachment.jwt?.jwt?.mcp !== undefined
  }

  /** position: of the match in its rule. */
  routes(match: RouteMatch, position: number): readonly OrderedRoute[] {
    if (!this.#isMcp || this.action.type === 'refuse') return [this.#ordered(match, position)]
    if (isWellKnown(match.path)) return [this.#answered(match, position)]
    const fronts = coveredRoots(match).map((root) =>
      this.#answered(
        { ...match, path: { type: 'PathPrefix', value: root } },
        position,
        rootName(root),
      ),
    )
    return [...fronts, this.#ordered(match, position)]
  }

  #ordered(match: RouteMatch, position: number): OrderedRoute {
    const { requestHeaders, responseHeaders } = this.filters
    if (this.action.type === 'refuse') return this.#refused(match, position)
    return this.#place(position, {
      name: this.#name(position),
      match,
      action: this.action,
      ...(this.#isProtected ? { authz: this.#key } : {}),
      ...(this.cors === undefined ? {} : { cors: this.cors }),
      ...(requestHeaders === undefined ? {} : { requestHeaders }),
      ...(responseHeaders === undefined ? {} : { responseHeaders }),
    })
  }

  /** Bare: what else the rule says may be what Envoy would refuse. */
  #refused(match: RouteMatch, position: number): OrderedRoute {
    return this.#place(position, { name: this.#name(position), match, action: this.action })
  }

  #answered(match: RouteMatch, position: number, suffix?: string): OrderedRoute {
    return this.#place(position, {
      name: this.#name(position, suffix),
      match,
      action: { type: 'answered' },
      proc: { key: this.#key, mode: 'well-known' },
      ...(this.cors === undefined ? {} : { cors: this.cors }),
    })
  }

  #name(position: number, suffix?: string): string {
    const { namespace, name } = this.input.route.metadata
    return routeName(namespace, name, this.input.index, position, suffix)
  }

  #place(match: number, route: Route): OrderedRoute {
    const { route: httpRoute, index } = this.input
    return {
      route,
      rank: rankOf(route.match),
      created: httpRoute.metadata.creationTimestamp ?? 0,
      httpRoute: keyOf(httpRoute),
      rule: index,
      match,
    }
  }
}
