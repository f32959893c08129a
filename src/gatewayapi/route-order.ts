// In which order the routes of a virtual host are tried (Gateway API, HTTPRouteRule matches: precedence).

import type { Route } from '../ir/route.js'
import { compareText } from './world.js'

export interface OrderedRoute {
  readonly route: Route
  /** Milliseconds since the epoch; of the HTTPRoute. */
  readonly created: number
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly httpRoute: string
  /** Where it stands in the HTTPRoute. */
  readonly rule: number
  readonly match: number
}

export function byPrecedence(a: OrderedRoute, b: OrderedRoute): number {
  const [left, right] = [a.route.match, b.route.match]
  return (
    Number(right.path.type === 'Exact') - Number(left.path.type === 'Exact') ||
    right.path.value.length - left.path.value.length ||
    Number(right.method !== undefined) - Number(left.method !== undefined) ||
    right.headers.length - left.headers.length ||
    right.queryParams.length - left.queryParams.length ||
    a.created - b.created ||
    compareText(a.httpRoute, b.httpRoute) ||
    a.rule - b.rule ||
    a.match - b.match ||
    compareText(a.route.name, b.route.name)
  )
}
