// The matches of one rule → its routes: protected, answered by ext_proc (well-known paths of an MCP route), or refused.

import { routeName } from '../ir/names.js'
import type { Cors, RefuseAction, Route, RouteAction, RouteMatch } from '../ir/route.js'
import type { Filters } from './filters.js'
import { preflightOf } from './preflights.js'
import { preflightRank, rankOf, type OrderedRoute } from './route-order.js'
import { keyOfRule, type RuleInput } from './rule-input.js'
import { coveredRoots, isWellKnown, rootName } from './well-known-routes.js'
import { keyOf } from './world.js'

/** What the routes of a rule have in common. */
export interface RuleRoutes {
  /** Present: every match of the rule refuses. */
  readonly refusal?: RefuseAction
  readonly action: RouteAction
  readonly filters: Filters
  readonly cors?: Cors
}

/** position: of the match in its rule. */
export function buildRoutes(
  input: RuleInput,
  rule: RuleRoutes,
  match: RouteMatch,
  position: number,
): readonly OrderedRoute[] {
  const routes = routesOf(input, rule, match).flatMap(withPreflight)
  return routes.map(({ suffix, rank, ...route }) => {
    const { namespace, name } = input.route.metadata
    const named = { name: routeName(namespace, name, input.index, position, suffix), ...route }
    return {
      route: named,
      rank: rank ?? rankOf(named.match),
      created: input.route.metadata.creationTimestamp ?? 0,
      httpRoute: keyOf(input.route),
      rule: input.index,
      match: position,
    }
  })
}

/** A route, and what tells it from the others of its match. */
type Unnamed = Omit<Route, 'name'> & { readonly suffix?: string; readonly rank?: number }

function withPreflight(route: Unnamed): readonly Unnamed[] {
  const preflight = preflightOf(route)
  if (preflight === undefined) return [route]
  const suffix = route.suffix === undefined ? 'preflight' : `${route.suffix}/preflight`
  return [route, { ...preflight, suffix, rank: preflightRank(route.match) }]
}

function routesOf(input: RuleInput, rule: RuleRoutes, match: RouteMatch): readonly Unnamed[] {
  if (rule.refusal !== undefined) return [refusedRoute(rule.refusal, rule, match)]
  if (input.attachment.jwt?.jwt?.mcp === undefined) return [plainRoute(input, rule, match)]
  if (isWellKnown(match.path)) return [answeredRoute(input, rule, match)]
  const fronts = coveredRoots(match).map((root) => ({
    ...answeredRoute(input, rule, { ...match, path: { type: 'PathPrefix', value: root } }),
    suffix: rootName(root),
  }))
  return [...fronts, plainRoute(input, rule, match)]
}

/**
 * Bare: what else the rule says may be what Envoy would refuse. But for CORS, without which a page in a browser sees a
 * failed connection and not the answer.
 */
const refusedRoute = (
  action: RefuseAction,
  { cors }: RuleRoutes,
  match: RouteMatch,
): Omit<Route, 'name'> => ({ match, action, ...(cors === undefined ? {} : { cors }) })

function plainRoute(input: RuleInput, rule: RuleRoutes, match: RouteMatch): Unnamed {
  const { attachment, webhooks } = input
  const { action, cors, filters } = rule
  const { requestHeaders, responseHeaders } = filters
  if (action.type === 'refuse') return refusedRoute(action, rule, match)
  const isProtected = attachment.jwt !== undefined || attachment.authorization !== undefined
  return {
    match,
    action,
    ...(isProtected ? { authz: keyOfRule(input) } : {}),
    ...(webhooks === undefined || action.type !== 'forward'
      ? {}
      : { proc: { key: keyOfRule(input), mode: 'guard' } }),
    ...(cors === undefined ? {} : { cors }),
    ...(requestHeaders === undefined ? {} : { requestHeaders }),
    ...(responseHeaders === undefined ? {} : { responseHeaders }),
  }
}

const answeredRoute = (input: RuleInput, { cors }: RuleRoutes, match: RouteMatch): Unnamed => ({
  match,
  action: { type: 'answered' },
  proc: { key: keyOfRule(input), mode: 'well-known' },
  ...(cors === undefined ? {} : { cors }),
})
