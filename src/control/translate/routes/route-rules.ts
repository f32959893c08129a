// Translates one rule of an HTTPRoute and the policies on the route into Envoy routes and the entries of both tables.

import { ok } from '../../../kit/result.js'
import { mapEach, type Work } from '../../../kit/turns.js'
import type { AuthzEntry } from '../../../model/authz-entry.js'
import type { Destination } from '../../../model/destination.js'
import type { ProcEntry } from '../../../model/proc-entry.js'
import type { Cors } from '../../../model/route.js'
import type { HttpRouteRule } from '../../schema/kinds/http-route.js'
import type { BackendProblem } from '../backends/backends.js'
import { attachPolicies } from '../policies/attachments.js'
import type { Mcp } from '../policies/mcp.js'
import type { Context } from '../world/context.js'
import { type Filters, translateFilters } from './filters.js'
import type { OrderedRoute } from './hosts/route-order.js'
import { extendCorsForMcp } from './mcp-cors.js'
import { leakProblems, translateMirrors } from './mirrors.js'
import { brokenPolicies, translateBackends } from './route-backends.js'
import { coveringMatch, coveringMatches, translateMatch } from './route-matches.js'
import { actionOf, buildRoutes, refusalOf, type RuleInput } from './rule-routes.js'
import { authzEntry, procEntry } from './table-entries.js'
import { ruleProblems } from './unimplemented-fields.js'

/** A translated rule. */
export interface TranslatedRule {
  readonly routes: readonly OrderedRoute[]
  readonly authz: readonly AuthzEntry[]
  readonly proc: readonly ProcEntry[]
  readonly destinations: readonly Destination[]
  readonly uses: readonly string[]
  readonly refProblems: readonly BackendProblem[]
  readonly refNotes: readonly string[]
  /** Problems of the HTTPRoute itself; if not empty, the rule refuses. */
  readonly problems: readonly string[]
  /** Headers that were added for MCP clients. */
  readonly corsAdded: readonly string[]
}

/** The match of a rule without matches (Gateway API, HTTPRouteRule matches). */
const EVERYTHING: HttpRouteRule['matches'][number] = {
  path: { type: 'PathPrefix', value: '/' },
  headers: [],
  queryParams: [],
}

const FILTERS = [
  'CORS',
  'RequestHeaderModifier',
  'ResponseHeaderModifier',
  'URLRewrite',
  'RequestRedirect',
  'RequestMirror',
] as const

/** Translates a rule, with a yield after each match. */
export function* translateRule(context: Context, input: RuleInput): Work<TranslatedRule> {
  const { route, rule, index, attachment, presenter } = input
  const { namespace } = route.metadata
  const filters = translateFilters(rule.filters, FILTERS)
  const keepsHost = filters.rewrite?.hostname !== undefined
  const backends = translateBackends(context, namespace, rule, { keepsHost, presenter })
  const copies = translateMirrors(context, namespace, filters.mirrors ?? [], presenter)
  const specs = rule.matches.length > 0 ? rule.matches : [EVERYTHING]
  const matches = yield* mapEach(specs, translateMatch)
  const problems = [
    ...matches.flatMap((match) => (match.ok ? [] : [match.error])),
    ...filters.problems,
    ...prefixProblems(rule, filters),
    ...(filters.redirect !== undefined && rule.backendRefs.length > 0
      ? ['filter RequestRedirect and backendRefs exclude each other']
      : []),
    ...backends.problems,
    ...brokenPolicies(
      namespace,
      copies.uses.map((target) => attachPolicies(context, target)),
    ),
    ...leakProblems(rule, filters.mirrors ?? []),
    ...ruleProblems(route.unsupported, index),
    ...(input.tooLarge === undefined ? [] : [input.tooLarge]),
  ]
  const mcp = attachment.jwt?.jwt?.mcp
  const cors = corsOf(filters.cors, mcp)
  const refusal = refusalOf(input, problems)
  const action = refusal ?? actionOf(input, filters, backends, copies.mirrors)
  const shared = {
    refusal,
    action,
    filters,
    // What refuses repeats nothing else of the rule.
    ...(input.tooLarge === undefined ? { cors: cors?.cors } : {}),
  }
  const isProtective = attachment.policies.some((policy) => policy.isProtective)
  const inForce =
    input.tooLarge === undefined ? matches : coveringMatches(specs, isProtective).map(ok)
  const built = yield* mapEach(inForce.entries(), ([position, match]) => {
    if (match.ok) return buildRoutes(input, shared, match.value, position)
    // Without a route in its place, requests that it protects would match a broader route.
    const covering = isProtective ? coveringMatch(specs[position] ?? EVERYTHING) : undefined
    return covering === undefined ? [] : buildRoutes(input, shared, covering, position)
  })
  const routes = built.flat()
  return {
    routes,
    authz: authzEntry(input, routes),
    proc: procEntry(input, routes),
    destinations:
      action.type === 'forward' ? [...backends.destinations, ...copies.destinations] : [],
    uses: [...backends.uses, ...copies.uses],
    refProblems: [...backends.refProblems, ...copies.refProblems],
    refNotes: [...backends.refNotes, ...copies.refNotes],
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
