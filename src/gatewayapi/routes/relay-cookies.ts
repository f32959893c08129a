// Keeps the cookies of relays from backends of unchecked routes. Browsers send them to every route of a relay's host, and
// a copy of the route, for requests with such a cookie, has it removed. All other requests cost nothing.

import type { KeyedMemo } from '../../incremental/keyed-memo.js'
import { memo, memoWork } from '../../incremental/memo.js'
import { compareText } from '../../incremental/sorted-list.js'
import type { VirtualHost } from '../../ir/ir.js'
import { RELAY_COOKIE } from '../../ir/names.js'
import type { Route, ValueMatch } from '../../ir/route.js'
import { mapEach, type Work } from '../../turns.js'
import type { RouteChunk } from './route-chunks.js'

/** Adds the copies; remembers those of unchanged routes. */
export interface RelayCookies {
  /** Returns the host names of the relays, sorted. Cookies know no ports. */
  relayHosts(chunks: readonly RouteChunk[]): readonly string[]
  /**
   * Returns the virtual hosts of a route configuration, those that get a relay's requests with copies of their unchecked
   * routes; the same list if there are none. hosts: with one domain each.
   */
  withCopies(
    routeConfig: string,
    hosts: readonly VirtualHost[],
    relayHosts: readonly string[],
  ): Work<readonly VirtualHost[]>
}

/** Creates the copies of a translator. kept: its memo, which keeps lists. */
export function createRelayCookies(kept: KeyedMemo): RelayCookies {
  const hostsOfChunk = memo(relayHostsOfChunk)
  const copiedRoute = memo(withCopy)
  const copiedHost = memoWork(function* (host: VirtualHost): Work<VirtualHost> {
    const routes = yield* mapEach(host.routes, copiedRoute)
    return { ...host, routes: routes.flat() }
  })
  return {
    relayHosts: (chunks) => [...new Set(chunks.flatMap(hostsOfChunk))].sort(compareText),
    *withCopies(routeConfig, hosts, relayHosts) {
      if (relayHosts.length === 0) return hosts
      const byDomain = new Map(hosts.map((host) => [host.domains[0] ?? '', host]))
      const shared = new Set(relayHosts.flatMap((name) => hostServing(byDomain, name) ?? []))
      if (shared.size === 0) return hosts
      const copied: VirtualHost[] = []
      for (const host of hosts) copied.push(shared.has(host) ? yield* copiedHost(host) : host)
      return kept.get(`relay cookies ${routeConfig}`, copied, () => copied)
    },
  }
}

const relayHostsOfChunk = ({ proc }: RouteChunk): readonly string[] =>
  proc.flatMap((entry) =>
    entry.type === 'well-known' && entry.relay !== undefined
      ? [new URL(entry.relay.issuer).hostname]
      : [],
  )

/** Returns the virtual host that Envoy chooses: by the name, else by the longest wildcard. */
function hostServing(
  byDomain: ReadonlyMap<string, VirtualHost>,
  name: string,
): VirtualHost | undefined {
  const labels = name.split('.')
  const wildcards = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
  for (const domain of [name, ...wildcards, '*']) {
    const host = byDomain.get(domain)
    if (host !== undefined) return host
  }
  return undefined
}

/** Returns the route, after its copy if it needs one. */
const withCopy = (route: Route): readonly Route[] =>
  reachesBackends(route) && !removesCookies(route) ? [copyOf(route), route] : [route]

const reachesBackends = ({ action }: Route): boolean => action.type === 'forward'

/** Whether each request is checked, which removes the cookies too. */
const removesCookies = ({ authz, isAudited }: Route): boolean =>
  authz !== undefined && isAudited !== true

const OF_A_RELAY: ValueMatch = { name: 'cookie', type: 'Contains', value: RELAY_COOKIE }

const copyOf = (route: Route): Route => ({
  ...route,
  name: `${route.name}/relay-cookies`,
  match: {
    ...route.match,
    headers: [...route.match.headers, OF_A_RELAY].sort((a, b) => compareText(a.name, b.name)),
  },
  removesRelayCookies: true,
})
