// Finds MCP routes whose requests go to an HTTPRoute of another namespace that shares their host: Envoy prefers an exact path
// to a prefix, and a longer prefix to a shorter one, whoever was first (Gateway API, HTTPRouteRule matches).

import type { KeyedMemo } from '../../../kit/incremental/keyed-memo.js'
import type { Work } from '../../../kit/turns.js'
import type { FilterChain, Gateway, VirtualHost } from '../../../model/ir.js'
import { namespaceIn } from '../../../model/names.js'
import type { PathMatch, RouteMatch } from '../../../model/route.js'
import type { PlacedMcp } from './mcp-places.js'
import { patternCovers } from './path-patterns.js'
import type { RouteChunk } from './route-chunks.js'

/** What others take of an MCP route at one host. */
export interface Taken {
  readonly policy: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** Paths that its clients ask for; sorted. */
  readonly paths: readonly string[]
  /** The endpoint, if only paths below it are taken. */
  readonly below?: string
}

/** What is taken, by key of the policy. */
export type TakenPaths = ReadonlyMap<string, readonly Taken[]>

/** Patterns that are tried at one host: each costs as much as some hundred other matches. */
const MOST_TRIED = 4096

/** gateways: of the model. A host that stays the same costs next to nothing. */
export function* takenPaths(
  memo: KeyedMemo,
  gateways: readonly Gateway[],
  chunks: readonly RouteChunk[],
): Work<TakenPaths> {
  const taken = new Map<string, Taken[]>()
  const places = placesOf(chunks)
  if (places.size === 0) return taken
  for (const { name, virtualHosts } of gateways.flatMap(chainsOf)) {
    const domains = places.get(name)
    for (const host of domains === undefined ? [] : virtualHosts) {
      const own = domains?.get(host.domains[0] ?? '')
      if (own === undefined) continue
      const kept = memo.get(`taken at ${host.name}`, [host, ...own], (): Found => ({}))
      kept.found ??= yield* takenAt(host, own)
      for (const one of kept.found) taken.set(one.policy, [...(taken.get(one.policy) ?? []), one])
    }
    yield
  }
  return taken
}

/** What was found at a host. */
interface Found {
  found?: readonly Taken[]
}

const chainsOf = ({ listeners }: Gateway): readonly FilterChain[] =>
  listeners.flatMap(({ chains }) => chains)

/** Returns the MCP routes by route configuration and domain. */
function placesOf(
  chunks: readonly RouteChunk[],
): ReadonlyMap<string, ReadonlyMap<string, readonly PlacedMcp[]>> {
  const places = new Map<string, Map<string, PlacedMcp[]>>()
  for (const place of chunks.flatMap(({ mcps }) => mcps))
    for (const { routeConfig, domain } of place.placements) {
      const domains = places.get(routeConfig) ?? new Map<string, PlacedMcp[]>()
      places.set(routeConfig, domains)
      const there = domains.get(domain)
      if (there === undefined) domains.set(domain, [place])
      else there.push(place)
    }
  return places
}

/** A path that clients of an MCP route ask for. */
interface Wanted {
  readonly path: string
  readonly of: PlacedMcp
  /** Whether the route itself takes the requests that none of the routes before it took. */
  isReached: boolean
  isTaken: boolean
}

/** Looks at the routes in the order in which Envoy tries them. */
function* takenAt(host: VirtualHost, places: readonly PlacedMcp[]): Work<readonly Taken[]> {
  if (isOfOneNamespace(host)) return []
  const wanted = places.flatMap((of) =>
    of.paths.map((path): Wanted => ({ path, of, isReached: false, isTaken: false })),
  )
  const below = new Set<PlacedMcp>()
  const index = indexOf(wanted, places)
  let tried = 0
  for (const { name, match } of host.routes) {
    yield
    const namespace = namespaceIn(name)
    const isPattern = match.path.type === 'RegularExpression'
    if (isPattern && (tried += wanted.length) > MOST_TRIED) continue
    for (const one of index.covered(match.path))
      if (namespaceIn(one.of.route) !== namespace) one.isTaken ||= !one.isReached
      else if (isWhole(match)) one.isReached = true
    for (const place of index.above(match.path))
      if (namespaceIn(place.route) !== namespace) below.add(place)
  }
  return places.flatMap((place): readonly Taken[] => {
    const paths = wanted.filter(({ of, isTaken }) => of === place && isTaken)
    const isBelow = place.endpoint !== undefined && below.has(place)
    if (paths.length === 0 && !isBelow) return []
    const { policy, route, endpoint } = place
    return [
      {
        policy,
        route,
        paths: paths.map(({ path }) => path).sort(),
        ...(isBelow && { below: endpoint }),
      },
    ]
  })
}

function isOfOneNamespace({ routes: [first, ...others] }: VirtualHost): boolean {
  const namespace = namespaceIn(first?.name ?? '')
  return others.every(({ name }) => namespaceIn(name) === namespace)
}

/** Whether the match takes every request of its path. */
const isWhole = ({ method, headers, queryParams }: RouteMatch): boolean =>
  method === undefined && headers.length === 0 && queryParams.length === 0

interface WantedIndex {
  /** Returns what the match of a path takes. */
  covered(match: PathMatch): readonly Wanted[]
  /** Returns the places whose endpoint is above the path. */
  above(match: PathMatch): readonly PlacedMcp[]
}

/** A host may have thousands of MCP routes: each of its routes looks up its path, and patterns alone look at all. */
function indexOf(wanted: readonly Wanted[], places: readonly PlacedMcp[]): WantedIndex {
  const exact = groupedBy(wanted, ({ path }) => [path])
  const prefix = groupedBy(wanted, ({ path }) => prefixesOf(path))
  const endpoints = groupedBy(places, ({ endpoint }) => endpoint ?? [])
  return {
    covered: (match) => {
      if (match.type === 'Exact') return exact.get(match.value) ?? []
      if (match.type === 'PathPrefix') return prefix.get(withoutSlash(match.value)) ?? []
      return wanted.filter(({ path }) => patternCovers(match, path))
    },
    above: ({ type, value }) =>
      type === 'RegularExpression'
        ? []
        : prefixesOf(value)
            .filter((path) => path !== withoutSlash(value))
            .flatMap((path) => endpoints.get(path) ?? []),
  }
}

function groupedBy<Value>(
  values: readonly Value[],
  keysOf: (value: Value) => string | readonly string[],
): ReadonlyMap<string, readonly Value[]> {
  const groups = new Map<string, Value[]>()
  for (const value of values)
    for (const key of [keysOf(value)].flat()) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [value])
      else group.push(value)
    }
  return groups
}

const withoutSlash = (path: string): string => path.replace(/\/$/, '')

/** Returns the path and all above it, without slashes at their ends. */
function prefixesOf(path: string): readonly string[] {
  const parts = withoutSlash(path).split('/')
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}
