// Translates HTTPRoutes in chunks, one query each, so that a revision handles chunks instead of thousands of routes.

import type { Chunk } from '../../../kit/incremental/chunked-list.js'
import { mapWork, type Work } from '../../../kit/turns.js'
import type { AuthzEntry } from '../../../model/authz-entry.js'
import type { Destination } from '../../../model/destination.js'
import type { MeshRoute } from '../../../model/mesh-route.js'
import type { ProcEntry } from '../../../model/proc-entry.js'
import type { WantedDocument } from '../../../model/remote-target.js'
import type { GatewayName, ResourceStatus } from '../../../model/status.js'
import { crowdedOf } from '../backends/endpoint-room.js'
import { type Context, queryWork } from '../world/context.js'
import { uniqueGateways } from '../world/world.js'
import { heirsOf, type HeirsOfAll } from './heirs.js'
import type { PlacedRelay } from './hosts/relay-hosts.js'
import type { OrderedRoute } from './hosts/route-order.js'
import type { PlacedMcp } from './mcp-places.js'
import { checkPatterns } from './route-matches.js'
import { largeIn, type LargeRoute } from './route-room.js'
import { type TranslatedRoute, translatedRoute } from './routes.js'
import type { HttpRoute } from './rule-routes.js'
import { uncheckedIn, type UncheckedRoutes } from './unchecked-routes.js'

/** The translation of a chunk of HTTPRoutes. */
export interface RouteChunk {
  readonly statuses: readonly ResourceStatus[]
  readonly destinations: readonly Destination[]
  readonly authz: readonly AuthzEntry[]
  readonly proc: readonly ProcEntry[]
  readonly wanted: readonly WantedDocument[]
  readonly mesh: readonly MeshRoute[]
  /** The placed routes, by route configuration and domain; the same list while the route that places them is the same. */
  readonly placed: ReadonlyMap<string, ReadonlyMap<string, readonly OrderedRoute[]>>
  /** Number of HTTPRoutes attached to each listener. */
  readonly attached: AttachedRoutes
  /** The Gateways whose routes, or policies on them, use a backend, by its targetKey(); lists are kept as in placed. */
  readonly users: ReadonlyMap<string, readonly GatewayName[]>
  readonly heirs: HeirsOfAll
  /** The HTTPRoutes that need room in their namespace. */
  readonly large: readonly LargeRoute[]
  /** Names of the destinations whose Services need room in their namespace. */
  readonly crowded: readonly string[]
  /** The relays that the routes' policies ask for. */
  readonly relays: readonly PlacedRelay[]
  readonly mcps: readonly PlacedMcp[]
  /** Absent: Gatehouse configures the Envoys. */
  readonly unchecked?: UncheckedRoutes
}

/** Number of attached HTTPRoutes, by ownerKey() and name of the listener. */
export type AttachedRoutes = ReadonlyMap<string, ReadonlyMap<string, number>>

/** Translates chunks of HTTPRoutes, in slices. */
export const translateRoutes = (
  context: Context,
  chunks: readonly Chunk<HttpRoute>[],
): Work<readonly RouteChunk[]> =>
  mapWork(chunks, (chunk) => queryWork(context, 'routes', chunk, (own) => routesOf(own, chunk)))

function* routesOf(context: Context, chunk: Chunk<HttpRoute>): Work<RouteChunk> {
  const routes = yield* mapWork(chunk, function* (route) {
    yield* checkPatterns(route.spec)
    const translated = yield* translatedRoute(context, route)
    yield
    return translated
  })
  const isMesh = context.options.mesh !== undefined
  const placed = yield* placedOf(routes)
  const heirs = yield* heirsOf(routes)
  const crowded = crowdedOf(
    context,
    routes.flatMap(({ destinations }) => destinations),
  )
  return {
    ...pooled(routes),
    placed,
    heirs,
    crowded,
    ...(isMesh ? { unchecked: uncheckedIn(routes) } : {}),
  }
}

const pooled = (
  routes: readonly TranslatedRoute[],
): Omit<RouteChunk, 'placed' | 'heirs' | 'crowded'> => ({
  statuses: routes.map(({ status }) => status),
  destinations: routes.flatMap(({ destinations }) => destinations),
  authz: routes.flatMap(({ authz }) => authz),
  proc: routes.flatMap(({ proc }) => proc),
  wanted: routes.flatMap(({ wanted }) => wanted),
  mesh: routes.flatMap(({ mesh }) => mesh ?? []),
  attached: attachedOf(routes),
  users: usersOf(routes),
  relays: routes.flatMap(({ relays }) => relays),
  mcps: routes.flatMap(({ mcps }) => mcps),
  large: largeIn(routes),
})

/** Yields after each place: a route may have thousands, and thousands of matches in each. */
function* placedOf(translated: readonly TranslatedRoute[]): Work<RouteChunk['placed']> {
  const placed = new Map<string, Map<string, readonly OrderedRoute[]>>()
  /** Lists that were made here, and not by a route. */
  const shared = new Map<readonly OrderedRoute[], OrderedRoute[]>()
  for (const { placements, routes } of translated.flatMap((route) => route.placed))
    for (const { routeConfig, domain } of placements) {
      yield
      const domains = placed.get(routeConfig) ?? new Map<string, readonly OrderedRoute[]>()
      placed.set(routeConfig, domains)
      const there = domains.get(domain)
      const own = there && shared.get(there)
      if (there === undefined) domains.set(domain, routes)
      else if (own !== undefined) own.push(...routes)
      else {
        const both = [...there, ...routes]
        shared.set(both, both)
        domains.set(domain, both)
      }
    }
  return placed
}

function attachedOf(routes: readonly TranslatedRoute[]): AttachedRoutes {
  const sums = new Map<string, Map<string, number>>()
  for (const { listeners } of routes)
    for (const [owner, names] of listeners) {
      const sum = sums.get(owner) ?? new Map<string, number>()
      sums.set(owner, sum)
      for (const name of names) sum.set(name, (sum.get(name) ?? 0) + 1)
    }
  return sums
}

/** Adds up the attached routes of chunks. */
export function sumAttached(parts: readonly AttachedRoutes[]): AttachedRoutes {
  const sums = new Map<string, Map<string, number>>()
  for (const part of parts)
    for (const [owner, counts] of part) {
      const sum = sums.get(owner) ?? new Map<string, number>()
      sums.set(owner, sum)
      for (const [listener, count] of counts) sum.set(listener, (sum.get(listener) ?? 0) + count)
    }
  return sums
}

function usersOf(routes: readonly TranslatedRoute[]): RouteChunk['users'] {
  const users = new Map<string, readonly GatewayName[]>()
  /** Backends of several routes. */
  const shared = new Map<string, Set<readonly GatewayName[]>>()
  for (const { uses, gateways } of routes)
    for (const target of uses) {
      const known = users.get(target)
      if (known === undefined) users.set(target, gateways)
      else if (known !== gateways)
        shared.set(target, (shared.get(target) ?? new Set([known])).add(gateways))
    }
  for (const [target, lists] of shared) users.set(target, uniqueGateways([...lists].flat()))
  return users
}
