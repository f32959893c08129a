// Turns the HTTPRoutes of a mesh into the objects that the mesh needs, route by route: a route that cannot be exported
// is closed, and does not keep the others from their protection. Pure.

import type { Manifest } from '../export/manifest.js'
import type { MeshRoute } from '../ir/mesh-route.js'
import { refusedKey } from '../ir/names.js'
import type { GatewayName } from '../ir/status.js'
import type { Result } from '../result.js'
import type { Work } from '../turns.js'

/** An object to apply. */
export interface WantedObject {
  /** KIND/NAMESPACE/NAME. */
  readonly key: string
  readonly manifest: Manifest
  /** The Gateways of its namespace that it is for, which own it. */
  readonly owners: readonly GatewayName[]
}

/** What a protected HTTPRoute needs. */
export interface RouteNeeds {
  readonly route: MeshRoute
  /** Why its policies cannot be in force; empty: they can. */
  readonly problems: readonly string[]
  /** Keys of the objects that it needs. */
  readonly needs: readonly string[]
}

export interface Wanted {
  readonly objects: ReadonlyMap<string, WantedObject>
  readonly routes: readonly RouteNeeds[]
}

/** Exports routes to one mesh. */
export interface MeshExport {
  /** Exports one route. error: why it cannot be exported. */
  ofRoute(route: MeshRoute): Result<readonly Manifest[], readonly string[]>
  /** Merges two manifests with the same name, made for different routes; undefined: they contradict each other. */
  merge(one: Manifest, other: Manifest): Manifest | undefined
}

/** Returns the objects for all routes. */
export function* wantedWork(routes: readonly MeshRoute[], mesh: MeshExport): Work<Wanted> {
  const needs: Exported[] = []
  for (const route of routes) {
    needs.push(exported(route, mesh))
    yield
  }
  const objects = new Map<string, WantedObject>()
  const done: RouteNeeds[] = []
  for (const each of needs) {
    done.push(add(each, objects, mesh))
    yield
  }
  return { objects, routes: done }
}

interface Exported extends Pick<RouteNeeds, 'route' | 'problems'> {
  readonly manifests: readonly Manifest[]
}

function exported(route: MeshRoute, mesh: MeshExport): Exported {
  const manifests = mesh.ofRoute(route)
  if (manifests.ok) return { route, problems: [], manifests: manifests.value }
  const closed = isClosed(route) ? mesh.ofRoute(refused(route)) : undefined
  return { route, problems: manifests.error, manifests: closed?.ok === true ? closed.value : [] }
}

/** Whether a route that cannot be exported must be closed: one that is only audited is served as if without a policy. */
const isClosed = ({ isRefused, authz, isGuarded, documents }: MeshRoute): boolean =>
  isRefused === true ||
  (authz !== undefined && authz.isAudited !== true) ||
  isGuarded ||
  documents !== undefined

/** The route with a key that no table has: each request of it is denied. */
function refused(route: MeshRoute): MeshRoute {
  const { namespace, name, source, policies, parents, hostnames, rules, gateways, sealing } = route
  return {
    ...{ namespace, name, source, policies, parents, hostnames, rules, gateways, sealing },
    authz: { key: refusedKey(namespace, name), paths: [], filtersLists: false },
    isGuarded: false,
    isEndless: false,
    problems: [],
  }
}

/** Adds the objects of a route to all, unless one of them has the name of another route's object. */
function add(
  { route, problems, manifests }: Exported,
  objects: Map<string, WantedObject>,
  mesh: MeshExport,
): RouteNeeds {
  const own = manifests.map((manifest) => {
    const key = keyOf(manifest)
    const before = objects.get(key)
    const merged = before === undefined ? manifest : mesh.merge(before.manifest, manifest)
    return { key, before, merged }
  })
  const clash = own.find(({ merged }) => merged === undefined)
  if (clash !== undefined)
    return {
      route,
      problems: [...problems, `its ${clash.key} is also that of another route: rename one of them`],
      needs: [],
    }
  for (const { key, before, merged } of own)
    if (merged !== undefined)
      objects.set(key, {
        key,
        manifest: merged,
        owners: uniqueOwners(before?.owners ?? [], ownersOf(route, merged)),
      })
  return { route, problems, needs: own.map(({ key }) => key) }
}

const keyOf = ({ kind, metadata }: Manifest): string =>
  `${kind}/${metadata.namespace}/${metadata.name}`

const ownersOf = ({ gateways }: MeshRoute, { metadata }: Manifest): readonly GatewayName[] =>
  gateways.filter(({ namespace }) => namespace === metadata.namespace)

const uniqueOwners = (
  some: readonly GatewayName[],
  more: readonly GatewayName[],
): readonly GatewayName[] => [
  ...some,
  ...more.filter((each) => !some.some(({ name }) => name === each.name)),
]
