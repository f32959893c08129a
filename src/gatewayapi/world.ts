// Resources as the translation looks them up: tables by "NAMESPACE/NAME", by target and by namespace. What did not
// change since the last translation stays the same object, so that recall.ts sees it.

import type { RemoteDocument } from '../ir/remote-target.js'
import type { BackendTlsPolicySpec } from '../resources/backend-tls-policy.js'
import type { ConfigMapData } from '../resources/config-map.js'
import { SERVICE_NAME_LABEL, type EndpointSliceData } from '../resources/endpoint-slice.js'
import { GATEWAY_API_GROUP } from '../resources/fields.js'
import type { GatewayClassSpec } from '../resources/gateway-class.js'
import type { GatewaySpec } from '../resources/gateway.js'
import type { HttpRouteSpec } from '../resources/http-route.js'
import type { NamespaceData } from '../resources/namespace.js'
import type { ProxyBackendSpec } from '../resources/proxy-backend.js'
import type { ProxyParametersSpec } from '../resources/proxy-parameters.js'
import type { ProxyPolicySpec } from '../resources/proxy-policy.js'
import type { ReferenceGrantSpec } from '../resources/reference-grant.js'
import type { Resource, Resources } from '../resources/resources.js'
import type { SecretData } from '../resources/secret.js'
import type { ServiceSpec } from '../resources/service.js'

export type Table<Value> = ReadonlyMap<string, Value>
type Group<Spec> = Table<readonly Resource<Spec>[]>

export interface World {
  readonly gatewayClasses: Table<Resource<GatewayClassSpec>>
  readonly gateways: Table<Resource<GatewaySpec>>
  readonly httpRoutes: Table<Resource<HttpRouteSpec>>
  readonly proxyBackends: Table<Resource<ProxyBackendSpec>>
  readonly proxyParameters: Table<Resource<ProxyParametersSpec>>
  readonly namespaces: Table<Resource<NamespaceData>>
  readonly services: Table<Resource<ServiceSpec>>
  readonly secrets: Table<Resource<SecretData>>
  readonly configMaps: Table<Resource<ConfigMapData>>
  /** By targetKey(), the oldest first. */
  readonly policiesOn: Group<ProxyPolicySpec>
  /** By targetKey(), the oldest first. */
  readonly tlsPoliciesOn: Group<BackendTlsPolicySpec>
  /** By "NAMESPACE/SERVICE". */
  readonly endpointSlices: Group<EndpointSliceData>
  /** By namespace. */
  readonly referenceGrants: Group<ReferenceGrantSpec>
  /** By WantedDocument.id. */
  readonly remote: Table<RemoteDocument>
}

export const keyOf = (resource: Resource<unknown>): string =>
  keyIn(resource.metadata.namespace, resource.metadata.name)

export const keyIn = (namespace: string, name: string): string => `${namespace}/${name}`

export const targetKey = (group: string, kind: string, namespace: string, name: string): string =>
  `${group}/${kind}/${namespace}/${name}`

/** A world, and what it was made of. */
export interface BuiltWorld {
  readonly world: World
  readonly resources: Resources
}

/** previous: the world of the last translation; a table whose resources did not change is taken from it. */
export function buildWorld(
  resources: Resources,
  remote: Table<RemoteDocument>,
  previous: BuiltWorld | undefined,
): BuiltWorld {
  const of: Builder = (collection, table, build) =>
    previous !== undefined && isSameRow(resources[collection], previous.resources[collection])
      ? previous.world[table]
      : build(resources[collection], previous?.world[table])
  const world: World = {
    gatewayClasses: of('gatewayClasses', 'gatewayClasses', byKey),
    gateways: of('gateways', 'gateways', byKey),
    httpRoutes: of('httpRoutes', 'httpRoutes', byKey),
    proxyBackends: of('proxyBackends', 'proxyBackends', byKey),
    proxyParameters: of('proxyParameters', 'proxyParameters', byKey),
    namespaces: of('namespaces', 'namespaces', byKey),
    services: of('services', 'services', byKey),
    secrets: of('secrets', 'secrets', byKey),
    configMaps: of('configMaps', 'configMaps', byKey),
    policiesOn: of('proxyPolicies', 'policiesOn', byPolicyTarget),
    tlsPoliciesOn: of('backendTlsPolicies', 'tlsPoliciesOn', byTarget),
    endpointSlices: of('endpointSlices', 'endpointSlices', byService),
    referenceGrants: of('referenceGrants', 'referenceGrants', byNamespace),
    remote,
  }
  return { world, resources }
}

type Builder = <Collection extends keyof Resources, Name extends keyof World>(
  collection: Collection,
  table: Name,
  build: (resources: Resources[Collection], previous: World[Name] | undefined) => World[Name],
) => World[Name]

const byKey = <Spec>(resources: readonly Resource<Spec>[]): Table<Resource<Spec>> =>
  new Map(resources.map((resource) => [keyOf(resource), resource]))

type Grouping<Spec> = (
  resources: readonly Resource<Spec>[],
  previous: Group<Spec> | undefined,
) => Group<Spec>

const byTarget = <Spec extends Targeting>(
  resources: readonly Resource<Spec>[],
  previous: Group<Spec> | undefined,
): Group<Spec> => groupsOf(resources.toSorted(olderFirst), targetKeys, previous)

const byPolicyTarget: Grouping<ProxyPolicySpec> = (resources, previous) =>
  groupsOf(resources.toSorted(olderFirst), policyTargetKeys, previous)

const byService: Grouping<EndpointSliceData> = (resources, previous) =>
  groupsOf(resources, serviceOfSlice, previous)

const byNamespace: Grouping<ReferenceGrantSpec> = (resources, previous) =>
  groupsOf(resources, ({ metadata }) => [metadata.namespace], previous)

/** The oldest first, as conflicts are decided (decision 25): creationTimestamp, then namespace and name. */
export function olderFirst(a: Resource<unknown>, b: Resource<unknown>): number {
  const age = (resource: Resource<unknown>) => resource.metadata.creationTimestamp ?? 0
  return age(a) - age(b) || compareText(keyOf(a), keyOf(b))
}

/** By code units: the same on every machine, whatever its locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

interface Targeting {
  readonly targetRefs: readonly {
    readonly group: string
    readonly kind: string
    readonly name: string
  }[]
}

const targetKeys = ({ metadata, spec }: Resource<Targeting>): readonly string[] => [
  ...new Set(
    spec.targetRefs.map(({ group, kind, name }) =>
      targetKey(group, kind, metadata.namespace, name),
    ),
  ),
]

/**
 * A target of a group or kind that policies cannot have is most likely a misspelt HTTPRoute: one of that name has the
 * policy, which is broken, and must not be open (decision 25a). Gateways are looked up by themselves.
 */
function policyTargetKeys(policy: Resource<ProxyPolicySpec>): readonly string[] {
  const { targetRefs, traffic, backend } = policy.spec
  const isProtective = traffic !== undefined || backend?.ai !== undefined
  const { namespace } = policy.metadata
  const meant = targetRefs
    .filter(({ group, kind }) => isProtective && !KNOWN_TARGETS.has(`${group}/${kind}`))
    .map(({ name }) => targetKey(GATEWAY_API_GROUP, 'HTTPRoute', namespace, name))
  return [...new Set([...targetKeys(policy), ...meant])]
}

const KNOWN_TARGETS = new Set([
  `${GATEWAY_API_GROUP}/HTTPRoute`,
  `${GATEWAY_API_GROUP}/Gateway`,
  '/Service',
])

function serviceOfSlice({ metadata }: Resource<EndpointSliceData>): readonly string[] {
  const service = metadata.labels[SERVICE_NAME_LABEL]
  return service === undefined ? [] : [keyIn(metadata.namespace, service)]
}

function groupsOf<Spec>(
  resources: readonly Resource<Spec>[],
  keys: (resource: Resource<Spec>) => readonly string[],
  previous: Group<Spec> | undefined,
): Group<Spec> {
  const groups = new Map<string, Resource<Spec>[]>()
  for (const resource of resources)
    for (const key of keys(resource)) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [resource])
      else group.push(resource)
    }
  return new Map([...groups].map(([key, group]) => [key, sameGroup(group, previous?.get(key))]))
}

const sameGroup = <Member>(
  now: readonly Member[],
  before: readonly Member[] | undefined,
): readonly Member[] => (before !== undefined && isSameRow(now, before) ? before : now)

const isSameRow = (now: readonly unknown[], before: readonly unknown[]): boolean =>
  now === before ||
  (now.length === before.length && now.every((member, index) => member === before[index]))
