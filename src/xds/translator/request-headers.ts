// Orders request header changes of a rule and its backendRef: those of the backendRef apply after those of the rule.
// Envoy applies them in the opposite order, and the rule would overwrite what is meant for one backend.

import type { Header, HeaderModifier, Route, WeightedDestination } from '../../model/route.js'

/** Whether both are merged into the weighted clusters, instead of putting the rule's on the route. */
const isJoined = ({ action, requestHeaders }: Route): boolean =>
  requestHeaders !== undefined &&
  action.type === 'forward' &&
  action.destinations.some((destination) => destination.requestHeaders !== undefined)

/** Returns the request header changes of the route; undefined: none, or they are set per destination. */
export const headersOfRoute = (route: Route): HeaderModifier | undefined =>
  isJoined(route) ? undefined : route.requestHeaders

/** Returns the request header changes to set on a destination. */
export const headersTowards = (
  route: Route,
  { requestHeaders: own }: WeightedDestination,
): HeaderModifier | undefined =>
  isJoined(route) && route.requestHeaders !== undefined
    ? joined(route.requestHeaders, own ?? { set: [], add: [], remove: [] })
    : own

/**
 * Merges two modifiers. Envoy removes first, so what the second one removes or overwrites is dropped from the first.
 */
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
