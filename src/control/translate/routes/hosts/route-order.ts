// Orders the routes of a virtual host (Gateway API, HTTPRouteRule matches: precedence).

import { compareText } from '../../../../kit/incremental/sorted-list.js'
import type { Route, RouteMatch } from '../../../../model/route.js'

/** A route with what its order depends on. */
export interface OrderedRoute {
  readonly route: Route
  /** Result of rankOf(); higher ranks are tried first. */
  readonly rank: number
  /** Creation time of the HTTPRoute, in milliseconds since the epoch. */
  readonly created: number
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly httpRoute: string
  /** Index of the rule in the HTTPRoute. */
  readonly rule: number
  readonly match: number
}

const KINDS = { Exact: 2, RegularExpression: 1, PathPrefix: 0 } as const

/** Ranks exact paths first, then patterns, then prefixes, and by length within each; then matches with a method, more headers, more query parameters. */
export function rankOf({ path, method, headers, queryParams }: RouteMatch): number {
  // Each term is below the next factor: paths have at most 1024 characters, matches at most 16 headers and parameters.
  const byPath = KINDS[path.type] * 2048 + path.value.length
  const byMethod = byPath * 2 + (method === undefined ? 0 : 1)
  return (byMethod * 32 + headers.length) * 32 + queryParams.length
}

/** Ranks a preflight's route below routes for a method of the path, and above those for all methods. */
export const preflightRank = ({ path, queryParams }: RouteMatch): number =>
  rankOf({ path, headers: [], queryParams }) + 31 * 32

/** Compares routes by precedence. */
export function byPrecedence(a: OrderedRoute, b: OrderedRoute): number {
  return (
    b.rank - a.rank ||
    a.created - b.created ||
    compareText(a.httpRoute, b.httpRoute) ||
    a.rule - b.rule ||
    a.match - b.match ||
    compareText(a.route.name, b.route.name)
  )
}
