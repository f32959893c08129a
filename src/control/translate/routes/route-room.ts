// Bounds what the HTTPRoutes of a namespace make of Envoy's configuration together: each may be within its own bound
// (route-sizes.ts), and dozens of a few kilobytes would make gigabytes. The oldest have precedence, as in all conflicts.

import type { Context } from '../world/context.js'
import { withoutRoom } from '../world/room.js'
import { keyOf } from '../world/world.js'
import { MEGABYTE, MOST_IN_ENVOY } from './route-sizes.js'
import type { HttpRoute } from './rule-routes.js'

/** An HTTPRoute that needs room in its namespace. */
export interface LargeRoute {
  readonly route: HttpRoute
  readonly size: number
}

/** Maximum of the large routes of a namespace together, counted as those of one HTTPRoute are. */
const MOST_IN_NAMESPACE = 128 * MEGABYTE

/** HTTPRoutes up to this size always have room, so that a change among thousands of routes concerns few. */
const SMALL = 128 * 1024

/** Returns the routes that need room. */
export const largeIn = (routes: readonly LargeRoute[]): readonly LargeRoute[] =>
  routes.filter(({ size }) => size > SMALL).map(({ route, size }) => ({ route, size }))

/** The bound of an HTTPRoute, and what the status says about it. */
interface Bound {
  readonly most: number
  readonly within: string
}

/** Returns the bound of a route that has this size while it has room. */
export function boundOf({ reader }: Context, route: HttpRoute, size: number): Bound {
  if (size <= SMALL || reader.read('routesBeyond', keyOf(route)) === undefined)
    return {
      most: MOST_IN_ENVOY,
      within: `the HTTPRoute may make ${String(MOST_IN_ENVOY / MEGABYTE)}`,
    }
  const { namespace } = route.metadata
  return {
    most: SMALL,
    within: `the HTTPRoutes of namespace ${namespace} may make ${String(MOST_IN_NAMESPACE / MEGABYTE)} together, of which older ones take all`,
  }
}

/** Returns the routes without room, by keyOf(); depends on nothing but what is large. */
export const findRoutesBeyond = (large: readonly LargeRoute[]): ReadonlyMap<string, true> =>
  withoutRoom(
    large.map(({ route, size }) => [route, size]),
    MOST_IN_NAMESPACE,
  )
