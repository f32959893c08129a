// What a route must know of the listener and the virtual host that it stands in.

import type { FilterChain, Listener, VirtualHost } from '../../ir/ir.js'

export interface RouteContext {
  /** Of the listener. */
  readonly port: number
  readonly scheme: 'http' | 'https'
  /** The only host name that can lead here; absent: several, or a wildcard. */
  readonly exactHost?: string
}

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

/** Equal for equal contexts. */
export const contextKey = ({ port, scheme, exactHost }: RouteContext): string =>
  `${String(port)} ${scheme} ${exactHost ?? ''}`
