// Turns the HTTPRoutes of a mesh into the objects that the mesh needs, route by route: a route that cannot be exported
// is closed, and does not keep the others from their protection. Pure.

import type { KeeperInput } from '../../../control/sources/kubernetes/object-keeper.js'
import type { WantedObject } from '../../../control/sources/kubernetes/wanted-object.js'
import { err, type Result } from '../../../kit/result.js'
import type { Work } from '../../../kit/turns.js'
import { isListenerSet, type MeshRoute } from '../../../model/mesh-route.js'
import { refusedKey } from '../../../model/names.js'
import type { GatewayName } from '../../../model/status.js'
import type { Manifest } from '../export/manifest.js'

/** A manifest to apply. */
interface WantedManifestObject extends WantedObject {
  readonly manifest: Manifest
}

/** What a protected HTTPRoute needs. */
export interface RouteNeeds {
  readonly route: MeshRoute
  /** Why its policies cannot be in force; empty: they can. */
  readonly problems: readonly string[]
  /** The objects that it needs. */
  readonly needs: readonly WantedObject[]
}

/** The objects for all routes, and what each route needs. */
export interface Wanted {
  readonly objects: ReadonlyMap<string, WantedManifestObject>
  readonly routes: readonly RouteNeeds[]
}

/** The routes that a mesh is to protect. */
export interface MeshInput extends KeeperInput {
  readonly routes: readonly MeshRoute[]
}

/** Exports routes to one mesh. */
export interface MeshExport {
  /** Exports one route. error: why it cannot be exported. */
  ofRoute(route: MeshRoute): Result<readonly Manifest[], readonly string[]>
  /** Merges two manifests with the same name, made for different routes; undefined: they contradict each other. */
  merge(one: Manifest, other: Manifest): Manifest | undefined
  /** Finds routes that cannot be exported because of other ones; the reason by NAMESPACE/NAME. Absent: there are none. */
  clashes?(
    routes: readonly MeshRoute[],
    isClosed: (route: MeshRoute) => boolean,
  ): Work<ReadonlyMap<string, string>>
  /** Whether all rules of a route have the key of its first one. */
  readonly hasOneKey: boolean
}

/** Returns an export that keeps what it has exported for each route, as long as the route stays the same object. */
export function remembering(mesh: MeshExport): MeshExport {
  const known = new WeakMap<MeshRoute, ReturnType<MeshExport['ofRoute']>>()
  return {
    ...mesh,
    ofRoute: (route) => {
      const exported = known.get(route) ?? mesh.ofRoute(route)
      known.set(route, exported)
      return exported
    },
  }
}

/**
 * Returns the objects for all routes. A route's own objects go before those of another route's documents: the name of the
 * documents is longer than that of their route.
 */
export function* wantedWork(routes: readonly MeshRoute[], mesh: MeshExport): Work<Wanted> {
  const needs: Exported[] = []
  const clashes = yield* clashesOf(routes, mesh)
  for (const route of routes) {
    needs.push(exported(route, mesh, clashes.get(`${route.namespace}/${route.name}`)))
    yield
  }
  needs.sort((a, b) => b.route.name.length - a.route.name.length)
  const objects = new Map<string, WantedManifestObject>()
  const done: RouteNeeds[] = []
  for (const each of needs) {
    done.push(add(each, objects, mesh) ?? addClosed(each, objects, mesh))
    yield
  }
  return { objects, routes: done }
}

interface Exported extends Pick<RouteNeeds, 'route' | 'problems'> {
  readonly manifests: readonly Manifest[]
}

function* clashesOf(
  routes: readonly MeshRoute[],
  mesh: MeshExport,
): Work<ReadonlyMap<string, string>> {
  return mesh.clashes === undefined ? new Map() : yield* mesh.clashes(routes, isClosed)
}

function exported(route: MeshRoute, mesh: MeshExport, clash: string | undefined): Exported {
  const manifests = clash === undefined ? mesh.ofRoute(route) : err([clash])
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
  const { namespace, name, source, policies, hostnames, rules, gateways, sealing } = route
  return {
    namespace,
    name,
    source,
    policies,
    hostnames,
    rules,
    gateways,
    sealing,
    // Of the others, requests pass no Gateway.
    parents: route.parents.filter((parent) => parent.kind === 'Gateway' || isListenerSet(parent)),
    authz: { key: refusedKey(namespace, name), paths: [], filtersLists: false },
    isGuarded: false,
    isEndless: false,
    problems: [],
  }
}

/** Adds the objects of a route to all. Returns undefined if one of them has the name of another route's object. */
function add(
  { route, problems, manifests }: Exported,
  objects: Map<string, WantedManifestObject>,
  mesh: MeshExport,
): RouteNeeds | undefined {
  const own: WantedManifestObject[] = []
  for (const manifest of manifests) {
    const key = wantedKey(manifest)
    const before = objects.get(key)
    const merged = before === undefined ? manifest : mesh.merge(before.manifest, manifest)
    if (merged === undefined) return undefined
    const owners = uniqueOwners(before?.owners ?? [], ownersOf(route, merged))
    own.push({ key, manifest: merged, owners })
  }
  for (const object of own) objects.set(object.key, object)
  return { route, problems, needs: own }
}

/** Closes a route one of whose objects has the name of another route's. */
function addClosed(
  { route, problems }: Exported,
  objects: Map<string, WantedManifestObject>,
  mesh: MeshExport,
): RouteNeeds {
  const closed = mesh.ofRoute(refused(route))
  const all = [...problems, `HTTPRoute ${route.namespace}/${route.name}: ${SAME_NAME}`]
  const added = add(
    { route, problems: all, manifests: closed.ok ? closed.value : [] },
    objects,
    mesh,
  )
  return added ?? { route, problems: all, needs: [] }
}

const SAME_NAME =
  'the objects for its documents would have the names of those for another HTTPRoute: rename one of the two'

const wantedKey = ({ kind, metadata }: Manifest): string =>
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
