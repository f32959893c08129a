// Keeps the cookies of relays from backends of unchecked routes. Browsers send them to every route of a relay's host, and
// a copy of the route, for requests with such a cookie, has it removed. All other requests cost nothing.

import { differences } from '../../../../kit/incremental/diff.js'
import type { KeyedMemo } from '../../../../kit/incremental/keyed-memo.js'
import { memo, memoWork } from '../../../../kit/incremental/memo.js'
import { compareText } from '../../../../kit/incremental/sorted-list.js'
import { each, mapEach, type Work } from '../../../../kit/turns.js'
import { covers, domainsServing } from '../../../../model/hostnames.js'
import type { VirtualHost } from '../../../../model/ir.js'
import { RELAY_COOKIE } from '../../../../model/names.js'
import type { Route, ValueMatch } from '../../../../model/route.js'
import type { GatewayName } from '../../../../model/status.js'
import { GATEWAY_API_GROUP } from '../../../schema/kinds/fields.js'
import type { ProxyPolicy } from '../../policies/policies.js'
import type { Context } from '../../world/context.js'
import { isReferencePermitted } from '../../world/reference-grants.js'
import type { RouteChunk } from '../route-chunks.js'
import { relayHost } from './relay-hosts.js'

/** Adds the copies; remembers those of unchanged routes. */
export interface RelayCookies {
  /**
   * Replaces the policies, route chunks and ReferenceGrants of the previous revision. Refused relays count: browsers keep
   * their cookies.
   */
  update(
    context: Context,
    policies: readonly ProxyPolicy[],
    chunks: readonly RouteChunk[],
  ): Work<void>
  /**
   * Returns the virtual hosts of a route configuration, those that get the cookies of relays with copies of their
   * unchecked routes; the same list if there are none. A relay has an effect on the hosts that routes of its namespace
   * serve, and elsewhere on HTTPRoutes that a ReferenceGrant lets it refer to. hosts: with one domain each.
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
  /** Namespaces of the HTTPRoutes that serve a virtual host. */
  const namespacesOf = memoWork(function* (host: VirtualHost): Work<ReadonlySet<string>> {
    const routes = yield* mapEach(host.routes, httpRouteOf)
    return new Set(routes.map(({ namespace }) => namespace))
  })
  const names = createRelayNames()
  let domainsOf: RelayDomains = new Map()
  let grants: Grants = NO_GRANTS
  function* copiedFor(host: VirtualHost, relays: ReadonlySet<string>): Work<VirtualHost> {
    const serving = yield* namespacesOf(host)
    if ([...relays].some((namespace) => serving.has(namespace))) return yield* copiedHost(host)
    if (![...serving].some((namespace) => grants.areIn(namespace))) return host
    const routes = yield* mapEach(host.routes, (route) =>
      [...relays].some((namespace) => grants.permit(namespace, route))
        ? copiedRoute(route)
        : [route],
    )
    return kept.get(`relay cookies at ${host.name}`, [host, ...routes.flat()], () => ({
      ...host,
      routes: routes.flat(),
    }))
  }
  return {
    *update(context, policies, chunks) {
      yield* names.update(policies)
      domainsOf = relayDomains(chunks)
      grants = grantsIn(context)
    },
    *withCopies(routeConfig, hosts) {
      const domains: DomainsOfRelays = domainsOf.get(routeConfig) ?? new Map()
      if (domains.size === 0 && names.all.size === 0) return hosts
      const reached = reachedBy(hosts, names.all, domains)
      const copied: VirtualHost[] = []
      for (const host of hosts) {
        const relays = reached.get(host)
        copied.push(relays === undefined ? host : yield* copiedFor(host, relays))
      }
      return copied.every((host, index) => host === hosts[index])
        ? hosts
        : kept.get(`relay cookies ${routeConfig}`, copied, () => copied)
    },
  }
}

/** Returns the namespaces of the relays whose cookies browsers send to a virtual host; only for those that get any. */
function reachedBy(
  hosts: readonly VirtualHost[],
  names: RelayNames['all'],
  domains: DomainsOfRelays,
): ReadonlyMap<VirtualHost, ReadonlySet<string>> {
  const byDomain = new Map(hosts.map((host) => [host.domains[0] ?? '', host]))
  const reached = new Map<VirtualHost, ReadonlySet<string>>()
  const reach = (host: VirtualHost, relays: Iterable<string>): void => {
    reached.set(host, new Set([...(reached.get(host) ?? []), ...relays]))
  }
  for (const [name, namespaces] of names) {
    const host = hostServing(byDomain, name)
    if (host !== undefined) reach(host, namespaces.keys())
  }
  for (const [domain, namespaces] of domains) {
    const there = byDomain.get(domain)
    for (const host of domain === EVERY_DOMAIN ? hosts : there === undefined ? [] : [there])
      reach(host, namespaces)
  }
  return reached
}

/** Reads the HTTPRoute of a route from its name (routeName()). */
function httpRouteOf(route: Route): GatewayName {
  const [namespace = '', name = ''] = route.name.split('/', 2)
  return { namespace, name }
}

/** The ReferenceGrants of a revision. */
interface Grants {
  /** Whether a namespace has any. */
  areIn(namespace: string): boolean
  /** Whether ProxyPolicies of the namespace may refer to the route's HTTPRoute. */
  permit(namespace: string, route: Route): boolean
}

const NO_GRANTS: Grants = { areIn: () => false, permit: () => false }

const grantsIn = (context: Context): Grants => ({
  areIn: (namespace) => context.reader.read('referenceGrants', namespace) !== undefined,
  permit: (namespace, route) =>
    isReferencePermitted(
      context,
      { group: context.options.apiGroup, kind: 'ProxyPolicy', namespace },
      { group: GATEWAY_API_GROUP, kind: 'HTTPRoute', ...httpRouteOf(route) },
    ),
})

interface RelayNames {
  /**
   * Host names of the relays' resources, each with the namespaces of their policies and the number of policies there.
   * Cookies know no ports.
   */
  readonly all: ReadonlyMap<string, ReadonlyMap<string, number>>
  update(policies: readonly ProxyPolicy[]): Work<void>
}

function createRelayNames(): RelayNames {
  const all = new Map<string, Map<string, number>>()
  let known: readonly ProxyPolicy[] = []
  const count = (policy: ProxyPolicy, by: 1 | -1): void => {
    const name = relayHost(policy)?.name
    if (name === undefined) return
    const { namespace } = policy.metadata
    const counts = all.get(name) ?? new Map<string, number>()
    all.set(name, counts)
    const now = (counts.get(namespace) ?? 0) + by
    if (now === 0) counts.delete(namespace)
    else counts.set(namespace, now)
    if (counts.size === 0) all.delete(name)
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

/** Domains where relays are placed, each with the namespaces of the relays. */
type DomainsOfRelays = ReadonlyMap<string, ReadonlySet<string>>

/** The same by route configuration. */
type RelayDomains = ReadonlyMap<string, DomainsOfRelays>

/** Stands for all domains of a route configuration; no host name looks like it. */
const EVERY_DOMAIN = 'every domain'

function relayDomains(chunks: readonly RouteChunk[]): RelayDomains {
  const domains = new Map<string, Map<string, Set<string>>>()
  for (const { name, namespace, placements } of chunks.flatMap(({ relays }) => relays)) {
    // Otherwise a proxy changes Host, and nobody knows to which names for the other routes of the relay's host.
    const keepsHost = name === undefined || placements.some(({ domain }) => covers(domain, name))
    for (const { routeConfig, domain } of placements) {
      const there = domains.get(routeConfig) ?? new Map<string, Set<string>>()
      domains.set(routeConfig, there)
      const key = keepsHost ? domain : EVERY_DOMAIN
      there.set(key, (there.get(key) ?? new Set()).add(namespace))
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
