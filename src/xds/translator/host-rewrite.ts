// Which Host a backend sees: what the user wrote for the route, else what the backend needs, else the client's own.

import type { HeaderModifier, Route, WeightedDestination } from '../../ir/route.js'

/** Envoy takes no Host among the headers to set. */
const hostHeader = (modifier: HeaderModifier | undefined): string | undefined =>
  modifier?.set.find((header) => header.name.toLowerCase() === 'host')?.value

/** Undefined: the client's own. */
export const hostRewrite = (route: Route, destination: WeightedDestination): string | undefined => {
  const rewrite = route.action.type === 'forward' ? route.action.rewrite : undefined
  return (
    rewrite?.hostname ??
    hostHeader(destination.requestHeaders) ??
    hostHeader(route.requestHeaders) ??
    destination.host
  )
}
