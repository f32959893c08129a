// Splits a redirecting route with CORS by the Origin of requests: Envoy's CORS filter does not act on redirects, so the
// matches choose which requests get its headers.

import { compareText } from '../../incremental/sorted-list.js'
import { wildcardOrigin } from '../../ir/origins.js'
import type { Cors, Route, RouteMatch, ValueMatch } from '../../ir/route.js'
import { preflightOf } from './preflights.js'
import { preflightRank, rankOf } from './route-order.js'

/** A route that a redirect with CORS is split into. */
export interface SplitRoute extends Omit<Route, 'name'> {
  readonly suffix?: string
  readonly rank?: number
}

/** Returns the routes in place of one that redirects, given without its CORS: preflights, each allowed origin, other requests. */
export function splitByOrigin(
  plain: Omit<Route, 'name' | 'cors'>,
  cors: Cors,
): readonly SplitRoute[] {
  const { match } = plain
  // Between the route's own rank and the next one: no other match may come in between.
  const rank = rankOf(match)
  const preflight = preflightOf({ match, cors })
  return [
    preflight === undefined
      ? { ...allPreflights(match, cors), suffix: 'preflight', rank: rank + 0.75 }
      : { ...preflight, suffix: 'preflight', rank: preflightRank(match) },
    ...originMatches(cors).map((origin, index) => ({
      ...{ ...plain, cors, match: withHeaders(match, [origin]) },
      ...{ suffix: `origin/${String(index)}`, rank: rank + 0.5 },
    })),
    plain,
  ]
}

const allPreflights = (match: RouteMatch, cors: Cors): Omit<Route, 'name'> => ({
  match: { ...withHeaders(match, [ANY_ORIGIN, ANY_METHOD]), method: 'OPTIONS' },
  action: { type: 'answered' },
  cors,
})

const ANY_ORIGIN: ValueMatch = { name: 'origin', type: 'RegularExpression', value: '.+' }
const ANY_METHOD: ValueMatch = { ...ANY_ORIGIN, name: 'access-control-request-method' }

const originMatches = ({ allowOrigins }: Cors): readonly ValueMatch[] =>
  allowOrigins.includes('*')
    ? [ANY_ORIGIN]
    : allowOrigins.map((origin) => {
        const pattern = wildcardOrigin(origin)
        return pattern === undefined
          ? { name: 'origin', type: 'Exact', value: origin }
          : { name: 'origin', type: 'RegularExpression', value: pattern }
      })

const withHeaders = (match: RouteMatch, more: readonly ValueMatch[]): RouteMatch => ({
  ...match,
  headers: [...match.headers, ...more].sort((a, b) => compareText(a.name, b.name)),
})
