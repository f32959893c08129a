// Updates the index of resources incrementally and returns the keys that changed.

import { type Differences, differences } from '../../../kit/incremental/diff.js'
import { persistentMap } from '../../../kit/incremental/persistent-map.js'
import { each, mapEach, type Work } from '../../../kit/turns.js'
import type { RemoteState } from '../../../model/remote-target.js'
import type { NameState } from '../../../model/resolved-name.js'
import type { BackendTlsPolicySpec } from '../../schema/kinds/backend-tls-policy.js'
import type { ListenerSetSpec } from '../../schema/kinds/listener-set.js'
import type { ReferenceGrantSpec } from '../../schema/kinds/reference-grant.js'
import type { Resource, Resources } from '../../schema/kinds/resources.js'
import type { ServiceSpec } from '../../schema/kinds/service.js'
import {
  byName,
  envoyServiceKeys,
  gatewayOfSet,
  namespaceOf,
  olderFirst,
  policyTargetKeys,
  relayTokensKeys,
  serviceOfSlice,
  targetKeys,
} from './grouping.js'
import type { Read } from './queries.js'
import { type Group, keyOf, type Names, type ResourceIndex, type World } from './world.js'

/** A world, the resources it was built from, and the look-ups whose results differ from the previous world. */
export interface BuiltWorld {
  readonly world: World
  readonly resources: Resources
  readonly changed: readonly Read[]
}

/**
 * What does not come from resources: remote documents, resolved names, keys from files, and the routes and
 * Services that an earlier pass of the translation found to be without room.
 */
export interface Answers extends Pick<World, 'relayKeys' | 'routesBeyond' | 'servicesBeyond'> {
  readonly remote: RemoteState
  readonly names: NameState
}

/** Builds the index of a revision from the previous one. */
export function* buildWorld(
  resources: Resources,
  { remote, names, ...own }: Answers,
  previous?: BuiltWorld,
): Work<BuiltWorld> {
  const changed: Read[] = []
  const of: Builder = function* (collection, table, update) {
    const diff = differences<Resources[typeof collection][number]>(
      previous?.resources[collection] ?? [],
      resources[collection],
    )
    const updated = yield* update(diff, previous?.world[table])
    for (const key of updated.keys) changed.push({ table, key })
    if (diff.removed.length + diff.added.length > 0) yield
    return updated.table
  }
  const world: World = {
    gatewayClasses: yield* of('gatewayClasses', 'gatewayClasses', rows),
    gateways: yield* of('gateways', 'gateways', rows),
    listenerSets: yield* of('listenerSets', 'listenerSets', rows),
    httpRoutes: yield* of('httpRoutes', 'httpRoutes', rows),
    proxyBackends: yield* of('proxyBackends', 'proxyBackends', rows),
    proxyParameters: yield* of('proxyParameters', 'proxyParameters', rows),
    namespaces: yield* of('namespaces', 'namespaces', rows),
    services: yield* of('services', 'services', rows),
    secrets: yield* of('secrets', 'secrets', rows),
    configMaps: yield* of('configMaps', 'configMaps', rows),
    listenerSetsOf: yield* of('listenerSets', 'listenerSetsOf', setsByGateway),
    policiesOn: yield* of('proxyPolicies', 'policiesOn', groupsBy(policyTargetKeys, olderFirst)),
    relaysOf: yield* of('proxyPolicies', 'relaysOf', groupsBy(relayTokensKeys, olderFirst)),
    tlsPoliciesOn: yield* of('backendTlsPolicies', 'tlsPoliciesOn', tlsPoliciesByTarget),
    tlsPoliciesIn: yield* of('backendTlsPolicies', 'tlsPoliciesIn', tlsPoliciesByNamespace),
    endpointSlices: yield* of('endpointSlices', 'endpointSlices', groupsBy(serviceOfSlice, byName)),
    envoyServices: yield* of('services', 'envoyServices', servicesOfEnvoys),
    referenceGrants: yield* of(
      'referenceGrants',
      'referenceGrants',
      groupsBy<ReferenceGrantSpec>(namespaceOf, byName),
    ),
    gatewayNames: yield* of('gateways', 'gatewayNames', namesByNamespace),
    listenerSetNames: yield* of('listenerSets', 'listenerSetNames', namesByNamespace),
    httpRouteNames: yield* of('httpRoutes', 'httpRouteNames', namesByNamespace),
    proxyBackendNames: yield* of('proxyBackends', 'proxyBackendNames', namesByNamespace),
    serviceNames: yield* of('services', 'serviceNames', namesByNamespace),
    remote,
    names,
    ...own,
  }
  for (const key of changedKeys(previous?.world.remote, remote))
    changed.push({ table: 'remote', key })
  for (const key of changedKeys(previous?.world.names, names)) changed.push({ table: 'names', key })
  for (const table of ['relayKeys', 'routesBeyond', 'servicesBeyond'] as const)
    for (const key of changedKeys<unknown>(previous?.world[table], own[table]))
      changed.push({ table, key })
  return { world, resources, changed }
}

/** Returns the keys whose values differ. */
export const changedKeys = <Value>(
  before: ReadonlyMap<string, Value> = new Map<string, Value>(),
  now: ReadonlyMap<string, Value>,
): readonly string[] =>
  before === now
    ? []
    : [...new Set([...before.keys(), ...now.keys()])].filter(
        (key) => before.get(key) !== now.get(key),
      )

interface Updated<Version> {
  readonly table: Version
  /** Keys of the changed rows. */
  readonly keys: Iterable<string>
}

type Update<Spec, Version> = (
  diff: Differences<Resource<Spec>>,
  before: Version | undefined,
) => Work<Updated<Version>>

type SpecOf<Collection extends keyof Resources> = Resources[Collection][number]['spec']

type Builder = <Collection extends keyof Resources, Name extends keyof World>(
  collection: Collection,
  table: Name,
  update: Update<SpecOf<Collection>, World[Name]>,
) => Work<World[Name]>

function* rows<Spec>(
  { removed, added }: Differences<Resource<Spec>>,
  before: ResourceIndex<Spec> = persistentMap(),
): Work<Updated<ResourceIndex<Spec>>> {
  const changes = new Map<string, Resource<Spec> | undefined>()
  yield* each(removed, (resource) => void changes.set(keyOf(resource), undefined))
  yield* each(added, (resource) => void changes.set(keyOf(resource), resource))
  return { table: before.with(changes), keys: changes.keys() }
}

const groupsBy = <Spec>(
  keysOf: (resource: Resource<Spec>) => readonly string[],
  compare: (a: Resource<Spec>, b: Resource<Spec>) => number,
): Update<Spec, Group<Spec>> =>
  function* ({ removed, added }, before = persistentMap()) {
    const left = new Set(removed)
    const groups = new Map<string, Resource<Spec>[]>()
    const groupOf = (key: string): Resource<Spec>[] => {
      const known = groups.get(key)
      if (known !== undefined) return known
      const group = (before.get(key) ?? []).filter((member) => !left.has(member))
      groups.set(key, group)
      return group
    }
    yield* each(removed, (resource) => {
      for (const key of keysOf(resource)) groupOf(key)
    })
    yield* each(added, (resource) => {
      for (const key of keysOf(resource)) groupOf(key).push(resource)
    })
    const changes = [...groups].map(
      ([key, group]) => [key, group.length === 0 ? undefined : group.sort(compare)] as const,
    )
    return { table: before.with(changes), keys: groups.keys() }
  }

const tlsPoliciesByTarget = groupsBy<BackendTlsPolicySpec>(targetKeys, olderFirst)
const tlsPoliciesByNamespace = groupsBy<BackendTlsPolicySpec>(namespaceOf, olderFirst)
const setsByGateway = groupsBy<ListenerSetSpec>(gatewayOfSet, olderFirst)
const servicesOfEnvoys = groupsBy<ServiceSpec>(envoyServiceKeys, byName)

/** Names per namespace; a changed resource that keeps its name changes nothing. */
function* namesByNamespace<Spec>(
  { removed, added }: Differences<Resource<Spec>>,
  before: Names = persistentMap(),
): Work<Updated<Names>> {
  const isStill = new Set(yield* mapEach(added, keyOf))
  const was = new Set(yield* mapEach(removed, keyOf))
  const gone = yield* namesIn(removed, isStill)
  const come = yield* namesIn(added, was)
  const changes = new Map(
    [...new Set([...gone.keys(), ...come.keys()])].map((namespace) => {
      const left = (before.get(namespace) ?? []).filter(
        (name) => gone.get(namespace)?.has(name) !== true,
      )
      return [namespace, [...left, ...(come.get(namespace) ?? [])]]
    }),
  )
  return { table: before.with(changes), keys: changes.keys() }
}

/** Returns the names of the resources by namespace. except: keys of resources to leave out. */
function* namesIn(
  resources: readonly Resource<unknown>[],
  except: ReadonlySet<string>,
): Work<ReadonlyMap<string, Set<string>>> {
  const names = new Map<string, Set<string>>()
  yield* each(resources, (resource) => {
    const { namespace, name } = resource.metadata
    if (except.has(keyOf(resource))) return
    const known = names.get(namespace)
    if (known === undefined) names.set(namespace, new Set([name]))
    else known.add(name)
  })
  return names
}
