// In which order the routes of a virtual host are tried (Gateway API, HTTPRouteRule matches: precedence).

import { compareText } from '../../incremental/sorted-list.js'
import type { Route, RouteMatch } from '../../ir/route.js'

export interface OrderedRoute {
  readonly route: Route
  /** Of rankOf(): the higher is tried first. */
  readonly rank: number
  /** Milliseconds since the epoch; of the HTTPRoute. */
  readonly created: number
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly httpRoute: string
  /** Where it stands in the HTTPRoute. */
  readonly rule: number
  readonly match: number
}

/** Exact paths, then longer ones, then those with a method, then by their number of headers and of query parameters. */
export function rankOf({ path, method, headers, queryParams }: RouteMatch): number {
  const exact = path.type === 'Exact' ? 1 : 0
  // Each is below the next factor: paths have at most 1024 characters, matches at most 16 headers and parameters.
  const byPath = exact * 2048 + path.value.length
  const byMethod = byPath * 2 + (method === undefined ? 0 : 1)
  return (byMethod * 32 + headers.length) * 32 + queryParams.length
}

/** Of a preflight's route: after what is written for a method of the path, before what is for all of them. */
export const preflightRank = ({ path, queryParams }: RouteMatch): number =>
  rankOf({ path, headers: [], queryParams }) + 31 * 32

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
