// Keeps the cookies of relays from backends of unchecked routes. Browsers send them to every route of a relay's host, and
// a copy of the route, for requests with such a cookie, has it removed. All other requests cost nothing.

import { differences } from '../../incremental/diff.js'
import type { KeyedMemo } from '../../incremental/keyed-memo.js'
import { memo, memoWork } from '../../incremental/memo.js'
import { compareText } from '../../incremental/sorted-list.js'
import { covers, domainsServing } from '../../ir/hostnames.js'
import type { VirtualHost } from '../../ir/ir.js'
import { RELAY_COOKIE } from '../../ir/names.js'
import type { Route, ValueMatch } from '../../ir/route.js'
import { each, mapEach, type Work } from '../../turns.js'
import type { ProxyPolicy } from '../policies/policies.js'
import { relayHost } from './relay-hosts.js'
import type { RouteChunk } from './route-chunks.js'

/** Adds the copies; remembers those of unchanged routes. */
export interface RelayCookies {
  /** Replaces the policies and route chunks of the previous revision. Refused relays count: browsers keep their cookies. */
  update(policies: readonly ProxyPolicy[], chunks: readonly RouteChunk[]): Work<void>
  /**
   * Returns the virtual hosts of a route configuration, those that get the cookies of relays with copies of their
   * unchecked routes; the same list if there are none. hosts: with one domain each.
   */
  withCopies(routeConfig: string, hosts: readonly VirtualHost[]): Work<readonly VirtualHost[]>
}

/** Creates the copies of a translator. kept: its memo, which keeps lists. */
export function createRelayCookies(kept: KeyedMemo): RelayCookies {
  const copiedRoute = memo(withCopy)
  const copiedHost = memoWork(function* (host: VirtualHost): Work<VirtualHost> {
    const routes = yield* mapEach(host.routes, copiedRoute)
    return { ...host, routes: routes.flat() }
  })
  const names = createRelayNames()
  let domainsOf: RelayDomains = new Map()
  return {
    *update(policies, chunks) {
      yield* names.update(policies)
      domainsOf = relayDomains(chunks)
    },
    *withCopies(routeConfig, hosts) {
      const domains = domainsOf.get(routeConfig) ?? new Set()
      if (domains.size === 0 && names.all.size === 0) return hosts
      const byDomain = new Map(hosts.map((host) => [host.domains[0] ?? '', host]))
      const named = [...names.all.keys()].flatMap((name) => hostServing(byDomain, name) ?? [])
      const placed = domains.has(EVERY_DOMAIN)
        ? hosts
        : [...domains].flatMap((domain) => byDomain.get(domain) ?? [])
      const shared = new Set([...named, ...placed])
      if (shared.size === 0) return hosts
      const copied: VirtualHost[] = []
      for (const host of hosts) copied.push(shared.has(host) ? yield* copiedHost(host) : host)
      return kept.get(`relay cookies ${routeConfig}`, copied, () => copied)
    },
  }
}

interface RelayNames {
  /** Host names of the relays' resources, each with the number of policies. Cookies know no ports. */
  readonly all: ReadonlyMap<string, number>
  update(policies: readonly ProxyPolicy[]): Work<void>
}

function createRelayNames(): RelayNames {
  const all = new Map<string, number>()
  let known: readonly ProxyPolicy[] = []
  const count = (policy: ProxyPolicy, by: 1 | -1): void => {
    const name = relayHost(policy)?.name
    if (name === undefined) return
    const now = (all.get(name) ?? 0) + by
    if (now === 0) all.delete(name)
    else all.set(name, now)
  }
  return {
    all,
    *update(policies) {
      const { removed, added } = differences(known, policies)
      yield* each(removed, (policy) => count(policy, -1))
      yield* each(added, (policy) => count(policy, 1))
      known = policies
    },
  }
}

/** Domains where relays are placed, by route configuration. */
type RelayDomains = ReadonlyMap<string, ReadonlySet<string>>

/** Stands for all domains of a route configuration; no host name looks like it. */
const EVERY_DOMAIN = 'every domain'

function relayDomains(chunks: readonly RouteChunk[]): RelayDomains {
  const domains = new Map<string, Set<string>>()
  for (const { name, placements } of chunks.flatMap(({ relays }) => relays)) {
    // Otherwise a proxy changes Host, and nobody knows to which names for the other routes of the relay's host.
    const keepsHost = name === undefined || placements.some(({ domain }) => covers(domain, name))
    for (const { routeConfig, domain } of placements) {
      const there = domains.get(routeConfig) ?? new Set<string>()
      domains.set(routeConfig, there.add(keepsHost ? domain : EVERY_DOMAIN))
    }
  }
  return domains
}

/** Returns the virtual host that Envoy chooses: by the name, else by the longest wildcard. */
function hostServing(
  byDomain: ReadonlyMap<string, VirtualHost>,
  name: string,
): VirtualHost | undefined {
  const domain = domainsServing(name).find((one) => byDomain.has(one))
  return domain === undefined ? undefined : byDomain.get(domain)
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
