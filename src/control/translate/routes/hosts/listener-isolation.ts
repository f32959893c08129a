// Isolates listeners (Gateway API, listener isolation): a request belongs to the most specific listener of its port.
// Otherwise a namespace that may use "*.example.com" could take over "admin.example.com".

import { briefMemo } from '../../../../kit/incremental/memo.js'
import { covers } from '../../../../model/hostnames.js'
import type { VirtualHost } from '../../../../model/ir.js'
import { virtualHostName } from '../../../../model/names.js'
import type { Route } from '../../../../model/route.js'
import type { TranslatedListener } from '../../listeners/listeners.js'

const hostnameOf = ({ spec }: TranslatedListener): string => spec.hostname?.toLowerCase() ?? '*'

/** Returns the domains that no more specific listener of the port covers. */
export function ownDomains(
  listener: TranslatedListener,
  beside: readonly TranslatedListener[],
  domains: readonly string[],
): readonly string[] {
  const narrower = narrowerThan(listener, hostnamesByPort(beside).get(listener.spec.port) ?? [])
  return narrower.length === 0
    ? domains
    : domains.filter((domain) => !narrower.some((other) => covers(other, domain)))
}

/** Returns the host names of listeners in force, each once. Kept on the list, as every route asks for them. */
const hostnamesByPort = briefMemo((listeners: readonly TranslatedListener[]) => {
  const ports = new Map<number, string[]>()
  for (const listener of listeners) {
    if (!listener.isProgrammed) continue
    const { port } = listener.spec
    const known = ports.get(port)
    if (known === undefined) ports.set(port, [hostnameOf(listener)])
    else known.push(hostnameOf(listener))
  }
  return new Map([...ports].map(([port, names]) => [port, [...new Set(names)]] as const))
})

/** Kept on the listener, as every route asks for them. */
const narrowerOf = briefMemo(
  (_listener: TranslatedListener) => new WeakMap<readonly string[], readonly string[]>(),
)

function narrowerThan(
  listener: TranslatedListener,
  hostnames: readonly string[],
): readonly string[] {
  const known = narrowerOf(listener)
  const own = hostnameOf(listener)
  const narrower =
    known.get(hostnames) ?? hostnames.filter((other) => other !== own && covers(own, other))
  known.set(hostnames, narrower)
  return narrower
}

/**
 * Returns the host names that need a virtual host even without a route, as a broader one would answer otherwise.
 * sharing: the listeners of one route configuration. all: those of its port.
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
 * Returns the host names of the port's other listeners. If the certificate also covers one of them, browsers reuse the
 * connection for it. A 421 makes the client open a new connection (Gateway API, Listener hostname).
 */
export const misdirectedDomains = (
  sharing: readonly TranslatedListener[],
  all: readonly TranslatedListener[],
): readonly string[] => all.filter((listener) => !sharing.includes(listener)).map(hostnameOf)

/** Names the virtual host for misdirected requests; not a valid host name. */
const MISDIRECTED = '!misdirected'

/** Returns one virtual host for all such names, or none. With 64 listeners on a port, one for each would be 4,000. */
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
