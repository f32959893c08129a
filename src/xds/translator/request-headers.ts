// A rule and its backendRef that both change headers of the request: the backendRef comes after its rule. Envoy would do
// it the other way round, and the rule would write over what is meant for one backend.

import type { Header, HeaderModifier, Route, WeightedDestination } from '../../ir/route.js'

/** They then stand at the weighted clusters, together, and not at the route. */
const isJoined = ({ action, requestHeaders }: Route): boolean =>
  requestHeaders !== undefined &&
  action.type === 'forward' &&
  action.destinations.some((destination) => destination.requestHeaders !== undefined)

export const headersOfRoute = (route: Route): HeaderModifier | undefined =>
  isJoined(route) ? undefined : route.requestHeaders

export const headersTowards = (
  route: Route,
  { requestHeaders: own }: WeightedDestination,
): HeaderModifier | undefined =>
  isJoined(route) && route.requestHeaders !== undefined
    ? joined(route.requestHeaders, own ?? { set: [], add: [], remove: [] })
    : own

/** Envoy removes first: what the first one writes and the second one removes or writes anew is left out. */
function joined(first: HeaderModifier, second: HeaderModifier): HeaderModifier {
  const replaced = new Set([...second.remove, ...second.set.map(({ name }) => name)].map(lower))
  const kept = (headers: readonly Header[]): readonly Header[] =>
    headers.filter(({ name }) => !replaced.has(lower(name)))
  return {
    set: [...kept(first.set), ...second.set],
    add: [...kept(first.add), ...second.add],
    remove: [...new Set([...first.remove, ...second.remove])],
  }
}

const lower = (name: string): string => name.toLowerCase()
