// Updates the index of resources incrementally and returns the keys that changed.

import { type Differences, differences } from '../../incremental/diff.js'
import { persistentMap } from '../../incremental/persistent-map.js'
import type { RemoteState } from '../../ir/remote-target.js'
import type { NameState } from '../../ir/resolved-name.js'
import type { BackendTlsPolicySpec } from '../../resources/kinds/backend-tls-policy.js'
import type { ReferenceGrantSpec } from '../../resources/kinds/reference-grant.js'
import type { Resource, Resources } from '../../resources/kinds/resources.js'
import {
  byName,
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

/** Answers from outside: remote documents and resolved names. */
export interface Answers {
  readonly remote: RemoteState
  readonly names: NameState
}

export function buildWorld(
  resources: Resources,
  { remote, names }: Answers,
  previous?: BuiltWorld,
): BuiltWorld {
  const changed: Read[] = []
  const of: Builder = (collection, table, update) => {
    const diff = differences<Resources[typeof collection][number]>(
      previous?.resources[collection] ?? [],
      resources[collection],
    )
    const updated = update(diff, previous?.world[table])
    for (const key of updated.keys) changed.push({ table, key })
    return updated.table
  }
  const world: World = {
    gatewayClasses: of('gatewayClasses', 'gatewayClasses', rows),
    gateways: of('gateways', 'gateways', rows),
    httpRoutes: of('httpRoutes', 'httpRoutes', rows),
    proxyBackends: of('proxyBackends', 'proxyBackends', rows),
    proxyParameters: of('proxyParameters', 'proxyParameters', rows),
    namespaces: of('namespaces', 'namespaces', rows),
    services: of('services', 'services', rows),
    secrets: of('secrets', 'secrets', rows),
    configMaps: of('configMaps', 'configMaps', rows),
    policiesOn: of('proxyPolicies', 'policiesOn', groupsBy(policyTargetKeys, olderFirst)),
    relaysOf: of('proxyPolicies', 'relaysOf', groupsBy(relayTokensKeys, olderFirst)),
    tlsPoliciesOn: of(
      'backendTlsPolicies',
      'tlsPoliciesOn',
      groupsBy<BackendTlsPolicySpec>(targetKeys, olderFirst),
    ),
    endpointSlices: of('endpointSlices', 'endpointSlices', groupsBy(serviceOfSlice, byName)),
    referenceGrants: of(
      'referenceGrants',
      'referenceGrants',
      groupsBy<ReferenceGrantSpec>(namespaceOf, byName),
    ),
    gatewayNames: of('gateways', 'gatewayNames', namesByNamespace),
    httpRouteNames: of('httpRoutes', 'httpRouteNames', namesByNamespace),
    proxyBackendNames: of('proxyBackends', 'proxyBackendNames', namesByNamespace),
    serviceNames: of('services', 'serviceNames', namesByNamespace),
    remote,
    names,
  }
  for (const key of changedKeys(previous?.world.remote, remote))
    changed.push({ table: 'remote', key })
  for (const key of changedKeys(previous?.world.names, names)) changed.push({ table: 'names', key })
  return { world, resources, changed }
}

const changedKeys = <Value>(
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
) => Updated<Version>

type SpecOf<Collection extends keyof Resources> = Resources[Collection][number]['spec']

type Builder = <Collection extends keyof Resources, Name extends keyof World>(
  collection: Collection,
  table: Name,
  update: Update<SpecOf<Collection>, World[Name]>,
) => World[Name]

function rows<Spec>(
  { removed, added }: Differences<Resource<Spec>>,
  before: ResourceIndex<Spec> = persistentMap(),
): Updated<ResourceIndex<Spec>> {
  const changes = new Map<string, Resource<Spec> | undefined>()
  for (const resource of removed) changes.set(keyOf(resource), undefined)
  for (const resource of added) changes.set(keyOf(resource), resource)
  return { table: before.with(changes), keys: changes.keys() }
}

const groupsBy =
  <Spec>(
    keysOf: (resource: Resource<Spec>) => readonly string[],
    compare: (a: Resource<Spec>, b: Resource<Spec>) => number,
  ): Update<Spec, Group<Spec>> =>
  ({ removed, added }, before = persistentMap()) => {
    const left = new Set(removed)
    const groups = new Map<string, Resource<Spec>[]>()
    const groupOf = (key: string): Resource<Spec>[] => {
      const known = groups.get(key)
      if (known !== undefined) return known
      const group = (before.get(key) ?? []).filter((member) => !left.has(member))
      groups.set(key, group)
      return group
    }
    for (const resource of removed) for (const key of keysOf(resource)) groupOf(key)
    for (const resource of added) for (const key of keysOf(resource)) groupOf(key).push(resource)
    const changes = [...groups].map(
      ([key, group]) => [key, group.length === 0 ? undefined : group.sort(compare)] as const,
    )
    return { table: before.with(changes), keys: groups.keys() }
  }

/** Names per namespace; a changed resource that keeps its name changes nothing. */
function namesByNamespace<Spec>(
  { removed, added }: Differences<Resource<Spec>>,
  before: Names = persistentMap(),
): Updated<Names> {
  const isStill = new Set(added.map(keyOf))
  const was = new Set(removed.map(keyOf))
  const gone = namesIn(removed.filter((resource) => !isStill.has(keyOf(resource))))
  const come = namesIn(added.filter((resource) => !was.has(keyOf(resource))))
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

function namesIn(resources: readonly Resource<unknown>[]): ReadonlyMap<string, Set<string>> {
  const names = new Map<string, Set<string>>()
  for (const { metadata } of resources) {
    const known = names.get(metadata.namespace)
    if (known === undefined) names.set(metadata.namespace, new Set([metadata.name]))
    else known.add(metadata.name)
  }
  return names
}
