// Finds HTTPRoutes without a policy that take requests of a protected path, or of the OAuth documents. Pure.

import { compareText, patchSorted } from '../../../kit/incremental/sorted-list.js'
import { Pace, SLICE_UNITS, type Work } from '../../../kit/turns.js'
import { covers, domainsServing, intersectHostnames } from '../../../model/hostnames.js'
import type { JsonObject } from '../../../model/json.js'
import type { MeshParent, MeshRoute } from '../../../model/mesh-route.js'
import { type GatewayName, nameFor } from '../../../model/status.js'
import { memberOf, textOf } from './json-members.js'
import { isPreferred, type MatchPath, overlaps, type PathOrder } from './path-overlap.js'

/** The parts of an HTTPRoute that decide which requests it takes. */
export interface OtherRoute {
  readonly namespace: string
  readonly name: string
  /** Milliseconds since the epoch; absent: not known. */
  readonly created?: number | undefined
  readonly parents: readonly {
    readonly namespace?: string | undefined
    readonly name: string
    readonly sectionName?: string | undefined
    readonly port?: number | undefined
  }[]
  readonly hostnames: readonly string[]
  /** One for each match. */
  readonly paths: readonly OpenPath[]
}

/** The path of a match. */
export interface OpenPath extends MatchPath {
  /** Whether the match has further conditions. */
  readonly isNarrower: boolean
}

/** A listener of a Gateway, as far as it decides about hosts. */
export interface OpenListener {
  readonly name: string
  readonly port: number
  readonly hostname?: string | undefined
}

/** What decides beside the routes. */
export interface OpenPathSources {
  readonly order: PathOrder
  /** Returns the listeners of a Gateway; none: nothing is known about it. */
  readonly listenersOf: (gateway: GatewayName) => readonly OpenListener[]
  /** Returns when the HTTPRoute was created. */
  readonly createdOf: (route: MeshRoute) => number | undefined
}

/** Finds by path. */
export interface OpenPaths {
  /** Returns what opens a part of the route, e.g. "HTTPRoute default/other takes /mcp/files, and has no policy". */
  below(route: MeshRoute): Work<string | undefined>
}

interface Entry extends OpenPath {
  readonly route: OtherRoute
}

/** Open paths by host; '*': any host. */
type ByHost = ReadonlyMap<string, PathIndex<Entry>>

/** @param others HTTPRoutes without a policy, which are read in slices. */
export function createOpenPaths(others: Iterable<OtherRoute>, sources: OpenPathSources): OpenPaths {
  let byPlace: ReadonlyMap<string, ByHost> | undefined
  const known = new WeakMap<MeshRoute, { readonly found: string | undefined }>()
  return {
    *below(route) {
      const before = known.get(route)
      if (before !== undefined) return before.found
      byPlace ??= yield* pathsByPlace(others, sources)
      const entry = yield* find(route, byPlace, sources)
      const found =
        entry === undefined
          ? undefined
          : `${nameFor(route.namespace, 'HTTPRoute', `${entry.route.namespace}/${entry.route.name}`)} takes requests of ${entry.path}, and has no policy`
      known.set(route, { found })
      return found
    },
  }
}

function* pathsByPlace(
  others: Iterable<OtherRoute>,
  sources: OpenPathSources,
): Work<ReadonlyMap<string, ByHost>> {
  const byPlace = new Map<string, Map<string, Entry[]>>()
  for (const route of others) {
    const own = route.paths.map((path): Entry => ({ ...normal(path), route }))
    for (const { place, host } of yield* placesOf(route, route.parents, sources)) {
      const byHost = byPlace.get(place) ?? new Map<string, Entry[]>()
      const entries = byHost.get(host) ?? []
      for (const entry of own) entries.push(entry)
      byPlace.set(place, byHost.set(host, entries))
      yield
    }
    yield
  }
  const indexes = new Map<string, ByHost>()
  for (const [place, byHost] of byPlace) {
    const ofPlace = new Map<string, PathIndex<Entry>>()
    for (const [host, entries] of byHost) {
      ofPlace.set(host, yield* PathIndex.of(entries))
      yield
    }
    indexes.set(place, ofPlace)
  }
  return indexes
}

function* find(
  route: MeshRoute,
  byPlace: ReadonlyMap<string, ByHost>,
  sources: OpenPathSources,
): Work<Entry | undefined> {
  const parents = route.gateways.flatMap(({ namespace, name }): OtherRoute['parents'] => {
    const own = route.parents.filter((parent) => isOf(parent, route, namespace, name))
    return own.length === 0 ? [{ namespace, name }] : own
  })
  const paths = pathsOf(route)
  const places = yield* placesOf(route, parents, sources)
  const named = new Set(places.map(placeKey))
  const created = sources.createdOf(route)
  const takesFrom = (own: OpenPath, entry: Entry): boolean =>
    isPreferred(own, entry, sources.order) ||
    (!own.isNarrower && isEqual(own, entry) && isOlder(entry.route, created))
  const pace = new Pace()
  for (const { place, host } of places) {
    const byHost = byPlace.get(place)
    for (const other of byHost === undefined ? [] : hostsBeside(host, byHost)) {
      // Where the route names the other host itself, its paths there decide.
      const isNarrower = other !== host && covers(host, other)
      if (isNarrower && named.has(placeKey({ place, host: other }))) continue
      const index = byHost?.get(other)
      for (const own of paths) {
        if (pace.isDue()) yield
        for (const entry of (isNarrower ? index?.near(own) : index?.below(own)) ?? []) {
          if (pace.isDue(unitsOfTry(own, entry))) yield
          if (isNarrower ? overlaps(own, entry) : takesFrom(own, entry)) return entry
        }
      }
    }
  }
  return undefined
}

/** Units of work to compare two paths: a pattern that is tried may have to be compiled. */
const unitsOfTry = (one: MatchPath, other: MatchPath): number =>
  (one.type === 'pattern') === (other.type === 'pattern') ? 1 : SLICE_UNITS

/** Returns the hosts of others that share requests with a host. A mesh may add the paths of a wider host to a narrower one. */
function hostsBeside(host: string, byHost: ByHost): readonly string[] {
  const wider = domainsServing(host).filter((each) => byHost.has(each))
  const isPattern = host.startsWith('*')
  const narrower = isPattern ? [...byHost.keys()].filter((each) => covers(host, each)) : []
  return [...new Set([...wider, ...narrower])]
}

const isOf = (parent: MeshParent, route: MeshRoute, namespace: string, name: string): boolean =>
  parent.name === name && (parent.namespace ?? route.namespace) === namespace

const isEqual = (own: MatchPath, other: MatchPath): boolean =>
  own.path === other.path && own.type === other.type

/** Whether the other route is the older one: of two equal matches, its own is then in force. */
const isOlder = ({ created }: OtherRoute, than: number | undefined): boolean =>
  created !== undefined && than !== undefined && created < than

interface HostPlace {
  /** The Gateway and the port. */
  readonly place: string
  /** '*': any host. */
  readonly host: string
}

const placeKey = ({ place, host }: HostPlace): string => `${place} ${host}`

/** Returns where a route takes requests, and with which hosts. Yields after each listener. */
function* placesOf(
  { namespace: own, hostnames }: Pick<OtherRoute, 'namespace' | 'hostnames'>,
  parents: OtherRoute['parents'],
  { listenersOf }: OpenPathSources,
): Work<readonly HostPlace[]> {
  const places = new Map<string, HostPlace>()
  for (const { namespace = own, name, sectionName, port } of parents) {
    const listeners = listenersOf({ namespace, name })
    for (const listener of listeners.length === 0 ? [ANY] : listeners) {
      const isOther =
        listener !== ANY &&
        ((sectionName !== undefined && sectionName !== listener.name) ||
          (port !== undefined && port !== listener.port))
      for (const host of isOther ? [] : intersectHostnames(listener.hostname, hostnames)) {
        const each = { place: `${namespace}/${name} ${listener.port}`, host }
        places.set(placeKey(each), each)
      }
      yield
    }
  }
  return [...places.values()]
}

const ANY: OpenListener = { name: '', port: 0 }

const pathsOf = ({ rules, documents }: MeshRoute): readonly OpenPath[] => [
  ...rules.flatMap(({ matches }) =>
    matches.length === 0
      ? [ROOT]
      : (matches as unknown as readonly JsonObject[]).flatMap(ownPathOf),
  ),
  ...(documents?.documents ?? []).map((path) => ({ ...ROOT, path })),
  ...(documents?.pages ?? []).map((path) => ({ ...ROOT, path, type: 'exact' as const })),
]

const ROOT: OpenPath = { path: '/', type: 'prefix', isNarrower: false }

function ownPathOf(match: JsonObject): readonly OpenPath[] {
  const { type = 'PathPrefix', value = '/' } = memberOf(match, 'path')
  const path = textOf(value)
  const { headers, queryParams, method } = match
  const isNarrower =
    method !== undefined ||
    [headers, queryParams].some((all) => Array.isArray(all) && all.length > 0)
  return path === undefined
    ? []
    : [normal({ path, type: pathTypeOf(textOf(type) ?? ''), isNarrower })]
}

/** Returns the type of a path as the Gateway API names it. */
export const pathTypeOf = (type: string): MatchPath['type'] =>
  type === 'Exact' ? 'exact' : type === 'RegularExpression' ? 'pattern' : 'prefix'

/** A prefix is the same with and without a slash at its end. */
const normal = (path: OpenPath): OpenPath =>
  path.type === 'prefix' && path.path.length > 1
    ? { ...path, path: path.path.replace(/\/$/, '') }
    : path

// Finds matches by path, without looking at all of them.

/** Matches by path. */
class PathIndex<Entry extends MatchPath> {
  #literal: readonly Entry[]
  readonly #patterns: readonly Entry[]

  private constructor(literal: readonly Entry[], patterns: readonly Entry[]) {
    this.#literal = literal
    this.#patterns = patterns
  }

  static *of<Entry extends MatchPath>(entries: readonly Entry[]): Work<PathIndex<Entry>> {
    const added = entries.filter(({ type }) => type !== 'pattern')
    const patterns = entries.filter(({ type }) => type === 'pattern')
    const byPath = (a: Entry, b: Entry): number => compareText(a.path, b.path)
    return new PathIndex(yield* patchSorted([], { removed: [], added }, byPath), patterns)
  }

  /** Returns at least the matches that share requests with a path, and that begin with it. */
  *below(own: MatchPath): Iterable<Entry> {
    if (own.type === 'pattern') yield* this.#literal
    else yield* this.#from(own.path, (path) => path.startsWith(own.path))
    yield* this.#patterns
  }

  /** Returns at least the matches that share requests with a path. */
  *near(own: MatchPath): Iterable<Entry> {
    if (own.type !== 'pattern') {
      const parts = own.path.split('/')
      const above = parts.map((_, index) => parts.slice(0, index).join('/') || '/')
      for (const path of new Set(above))
        if (path !== own.path) yield* this.#from(path, (each) => each === path)
    }
    yield* this.below(own)
  }

  /** Returns the matches from a path on, as long as their paths are wanted. */
  *#from(path: string, isWanted: (path: string) => boolean): Iterable<Entry> {
    const all = this.#literal
    let [low, high] = [0, all.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareText(all[middle]?.path ?? '', path) < 0) low = middle + 1
      else high = middle
    }
    for (let at = low; at < all.length; at += 1) {
      const entry = all[at]
      if (entry === undefined || !isWanted(entry.path)) return
      yield entry
    }
  }
}
