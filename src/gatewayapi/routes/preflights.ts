// What a browser asks before a request that a rule takes by its method comes with OPTIONS, which that rule does not match:
// its CORS filter answers from a route of its own (Fetch standard, CORS-preflight fetch).

import { compareText } from '../../incremental/sorted-list.js'
import type { Route, RouteMatch } from '../../ir/route.js'

/**
 * undefined: the route's own match has its preflights, or no CORS filter answers them. Envoy's filter ends every request
 * that this matches; should it ever not, nothing is behind it.
 */
export function preflightOf({
  match,
  cors,
}: Pick<Route, 'match' | 'cors'>): Omit<Route, 'name'> | undefined {
  const { method } = match
  if (cors === undefined || method === undefined || method === 'OPTIONS') return undefined
  return { match: preflightMatch(match, method), action: { type: 'answered' }, cors }
}

const preflightMatch = (match: RouteMatch, method: string): RouteMatch => ({
  ...match,
  method: 'OPTIONS',
  headers: [
    ...match.headers,
    { name: 'access-control-request-method', type: 'Exact', value: method } as const,
    { name: 'origin', type: 'RegularExpression', value: '.+' } as const,
  ].sort((a, b) => compareText(a.name, b.name)),
})
