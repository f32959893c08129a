// A request belongs to the most specific listener of its port: no route of a broader one answers for its host name
// (Gateway API, listener isolation), or a namespace that may use "*.example.com" could take over "admin.example.com".

import type { VirtualHost } from '../../ir/ir.js'
import { virtualHostName } from '../../ir/names.js'
import type { Route } from '../../ir/route.js'
import type { TranslatedListener } from '../listeners/listeners.js'
import { covers } from '../world/hostnames.js'

const hostnameOf = ({ spec }: TranslatedListener): string => spec.hostname?.toLowerCase() ?? '*'

/** The domains that are the listener's own, not those of a more specific one beside it. */
export function ownDomains(
  listener: TranslatedListener,
  beside: readonly TranslatedListener[],
  domains: readonly string[],
): readonly string[] {
  const narrower = beside
    .filter(({ spec, isProgrammed }) => isProgrammed && spec.port === listener.spec.port)
    .map(hostnameOf)
    .filter((other) => other !== hostnameOf(listener) && covers(hostnameOf(listener), other))
  return domains.filter((domain) => !narrower.some((other) => covers(other, domain)))
}

/**
 * Host names that must be there even without a route, or a broader one would answer. sharing: the listeners of one route
 * configuration; all: those of its port.
 */
export function reservedDomains(
  sharing: readonly TranslatedListener[],
  all: readonly TranslatedListener[],
): readonly string[] {
  const hostnames = all.map(hostnameOf)
  return sharing
    .map(hostnameOf)
    .filter((narrow) => hostnames.some((wide) => wide !== narrow && covers(wide, narrow)))
}

/**
 * Host names of the other listeners of the port. A client may send a request for one of them on a connection that was made
 * for ours, where our certificate has that name too: browsers do. Told that it is misdirected, it makes a connection for it
 * (Gateway API, Listener hostname).
 */
export const misdirectedDomains = (
  sharing: readonly TranslatedListener[],
  all: readonly TranslatedListener[],
): readonly string[] => all.filter((listener) => !sharing.includes(listener)).map(hostnameOf)

/** No host name: it names the virtual host of all of them. */
const MISDIRECTED = '!misdirected'

/** One virtual host for all such host names, or none: with 64 listeners on a port, one for each would be 4,000. */
export const misdirectedHosts = (
  routeConfig: string,
  domains: readonly string[],
): readonly VirtualHost[] =>
  domains.length === 0
    ? []
    : [{ name: virtualHostName(routeConfig, MISDIRECTED), domains, routes: [MISDIRECTED_ROUTE] }]

const MISDIRECTED_ROUTE: Route = {
  name: 'misdirected',
  match: { path: { type: 'PathPrefix', value: '/' }, headers: [], queryParams: [] },
  action: { type: 'misdirected' },
}
