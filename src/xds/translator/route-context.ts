// The parts of the listener and virtual host that a route depends on.

import type { FilterChain, Listener, VirtualHost } from '../../model/ir.js'

/** The place in a listener that a route is translated for. */
export interface RouteContext {
  /** Port of the listener. */
  readonly port: number
  readonly scheme: 'http' | 'https'
  /** The only host name that can match; absent if there are several or a wildcard. */
  readonly exactHost?: string
}

/** Returns the context of the routes of a virtual host. */
export function routeContext(
  listener: Listener,
  chain: FilterChain,
  virtualHost: VirtualHost,
): RouteContext {
  const [host, ...others] = virtualHost.domains
  const isExact = host !== undefined && others.length === 0 && !host.includes('*')
  return {
    port: listener.port,
    scheme: chain.tls === undefined ? 'http' : 'https',
    ...(isExact ? { exactHost: host } : {}),
  }
}

/** Returns a key that is equal for equal contexts. */
export const contextKey = ({ port, scheme, exactHost }: RouteContext): string =>
  `${String(port)} ${scheme} ${exactHost ?? ''}`
