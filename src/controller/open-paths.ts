// Finds HTTPRoutes without a policy that take requests of a protected path, or of the OAuth documents. Pure.

import type { JsonObject } from '../ir/json.js'
import type { MeshParent, MeshRoute } from '../ir/mesh-route.js'
import type { GatewayName } from '../ir/status.js'
import { memberOf, textOf } from './json-members.js'
import { PathIndex } from './path-index.js'
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
  below(route: MeshRoute): string | undefined
}

interface Entry extends OpenPath {
  readonly route: OtherRoute
}

/** Open paths by host; '': any host. */
type ByHost = Map<string, PathIndex<Entry>>

/** @param others HTTPRoutes without a policy. */
export function createOpenPaths(
  others: readonly OtherRoute[],
  sources: OpenPathSources,
): OpenPaths {
  const byPlace = new Map<string, ByHost>()
  for (const route of others)
    for (const { place, host } of placesOf(route, route.parents, sources)) {
      const byHost = byPlace.get(place) ?? (new Map() as ByHost)
      const entries = byHost.get(host) ?? new PathIndex<Entry>()
      for (const path of route.paths) entries.add({ ...normal(path), route })
      byPlace.set(place, byHost.set(host, entries))
    }
  const known = new WeakMap<MeshRoute, { readonly found: string | undefined }>()
  const search = (route: MeshRoute): string | undefined => {
    const found = find(route, byPlace, sources)
    return found === undefined
      ? undefined
      : `HTTPRoute ${found.route.namespace}/${found.route.name} takes requests of ${found.path}, and has no policy`
  }
  return {
    below: (route) => {
      const result = known.get(route) ?? { found: search(route) }
      known.set(route, result)
      return result.found
    },
  }
}

function find(
  route: MeshRoute,
  byPlace: ReadonlyMap<string, ByHost>,
  sources: OpenPathSources,
): Entry | undefined {
  const parents = route.gateways.flatMap(({ namespace, name }): OtherRoute['parents'] => {
    const own = route.parents.filter((parent) => isOf(parent, route, namespace, name))
    return own.length === 0 ? [{ namespace, name }] : own
  })
  const paths = pathsOf(route)
  const places = placesOf(route, parents, sources)
  const created = sources.createdOf(route)
  const takesFrom = (own: OpenPath, entry: Entry): boolean =>
    isPreferred(own, entry, sources.order) ||
    (!own.isNarrower && isEqual(own, entry) && isOlder(entry.route, created))
  for (const { place, host } of places) {
    const byHost = byPlace.get(place)
    for (const other of byHost === undefined ? [] : hostsBeside(host, byHost)) {
      // Where the route names the other host itself, its paths there decide.
      const isNarrower = other !== host && covers(host, other)
      if (isNarrower && places.some((each) => each.place === place && each.host === other)) continue
      const index = byHost?.get(other)
      for (const own of paths) {
        const found = isNarrower
          ? index?.near(own).find((entry) => overlaps(own, entry))
          : index?.below(own).find((entry) => takesFrom(own, entry))
        if (found !== undefined) return found
      }
    }
  }
  return undefined
}

/** Returns the hosts of others that share requests with a host. A mesh may add the paths of a wider host to a narrower one. */
function hostsBeside(host: string, byHost: ByHost): readonly string[] {
  if (host === '') return [...byHost.keys()]
  const labels = host.split('.')
  const wider = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
  const some = [host, ...wider, ''].filter((each) => byHost.has(each))
  const narrower = host.startsWith('*.')
    ? [...byHost.keys()].filter((each) => covers(host, each))
    : []
  return [...new Set([...some, ...narrower])]
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
  /** '': any host. */
  readonly host: string
}

/** Returns where a route takes requests, and with which hosts. */
function placesOf(
  { namespace: own, hostnames }: Pick<OtherRoute, 'namespace' | 'hostnames'>,
  parents: OtherRoute['parents'],
  { listenersOf }: OpenPathSources,
): readonly HostPlace[] {
  const places = parents.flatMap(({ namespace = own, name, sectionName, port }) => {
    const listeners = listenersOf({ namespace, name })
    const all = listeners.length === 0 ? [ANY] : listeners
    return all.flatMap((listener) =>
      listener !== ANY &&
      ((sectionName !== undefined && sectionName !== listener.name) ||
        (port !== undefined && port !== listener.port))
        ? []
        : hostsOf(hostnames, listener.hostname ?? '').map((host) => ({
            place: `${namespace}/${name} ${listener.port}`,
            host,
          })),
    )
  })
  return [...new Map(places.map((each) => [`${each.place} ${each.host}`, each])).values()]
}

const ANY: OpenListener = { name: '', port: 0 }

/** Returns the hosts that a route takes at a listener. */
const hostsOf = (hostnames: readonly string[], listener: string): readonly string[] =>
  hostnames.length === 0
    ? [listener]
    : hostnames.flatMap((host) =>
        covers(listener, host) ? [host] : covers(host, listener) ? [listener] : [],
      )

/** Whether a host covers another one or is the same; '': any host. */
const covers = (outer: string, inner: string): boolean =>
  outer === '' ||
  outer === inner ||
  (outer.startsWith('*.') && inner.replace(/^\*/, '').endsWith(outer.slice(1)))

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
