// Adds a route for CORS preflights to rules that match by method. A preflight is an OPTIONS request, which such a rule
// does not match (Fetch standard, CORS-preflight fetch).

import { compareText } from '../../incremental/sorted-list.js'
import type { Route, RouteMatch } from '../../ir/route.js'

/**
 * Returns undefined if the route itself matches its preflights, or has no CORS filter to answer them. Envoy's CORS
 * filter answers every request that this route matches; if it ever did not, the route has no backend.
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
