// Resources as the translation looks them up: tables by "NAMESPACE/NAME", by target and by namespace. What did not
// change since the last translation stays the same object, so that recall.ts sees it.

import type { RemoteDocument } from '../ir/remote-target.js'
import type { BackendTlsPolicySpec } from '../resources/backend-tls-policy.js'
import type { ConfigMapData } from '../resources/config-map.js'
import { SERVICE_NAME_LABEL, type EndpointSliceData } from '../resources/endpoint-slice.js'
import type { GatewayClassSpec } from '../resources/gateway-class.js'
import type { GatewaySpec } from '../resources/gateway.js'
import type { HttpRouteSpec } from '../resources/http-route.js'
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
  readonly proxyPolicies: Table<Resource<ProxyPolicySpec>>
  readonly proxyBackends: Table<Resource<ProxyBackendSpec>>
  readonly backendTlsPolicies: Table<Resource<BackendTlsPolicySpec>>
  readonly proxyParameters: Table<Resource<ProxyParametersSpec>>
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

/** previous: the world of the last translation. */
export function buildWorld(
  resources: Resources,
  remote: Table<RemoteDocument>,
  previous: World | undefined,
): World {
  const now: World = {
    gatewayClasses: tableOf(resources.gatewayClasses, (resource) => resource.metadata.name),
    gateways: tableOf(resources.gateways, keyOf),
    httpRoutes: tableOf(resources.httpRoutes, keyOf),
    proxyPolicies: tableOf(resources.proxyPolicies, keyOf),
    proxyBackends: tableOf(resources.proxyBackends, keyOf),
    backendTlsPolicies: tableOf(resources.backendTlsPolicies, keyOf),
    proxyParameters: tableOf(resources.proxyParameters, keyOf),
    services: tableOf(resources.services, keyOf),
    secrets: tableOf(resources.secrets, keyOf),
    configMaps: tableOf(resources.configMaps, keyOf),
    policiesOn: groupsOf(byAge(resources.proxyPolicies), targetKeys),
    tlsPoliciesOn: groupsOf(byAge(resources.backendTlsPolicies), targetKeys),
    endpointSlices: groupsOf(resources.endpointSlices, serviceOfSlice),
    referenceGrants: groupsOf(resources.referenceGrants, ({ metadata }) => [metadata.namespace]),
    remote,
  }
  return previous === undefined ? now : keepingTables(now, previous)
}

/** The oldest first, as conflicts are decided (decision 25): creationTimestamp, then namespace and name. */
export function olderFirst(a: Resource<unknown>, b: Resource<unknown>): number {
  const age = (resource: Resource<unknown>) => resource.metadata.creationTimestamp ?? 0
  return age(a) - age(b) || compareText(keyOf(a), keyOf(b))
}

/** By code units: the same on every machine, whatever its locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const byAge = <Spec>(resources: readonly Resource<Spec>[]): readonly Resource<Spec>[] =>
  resources.toSorted(olderFirst)

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

function serviceOfSlice({ metadata }: Resource<EndpointSliceData>): readonly string[] {
  const service = metadata.labels[SERVICE_NAME_LABEL]
  return service === undefined ? [] : [keyIn(metadata.namespace, service)]
}

const tableOf = <Spec>(
  resources: readonly Resource<Spec>[],
  key: (resource: Resource<Spec>) => string,
): Table<Resource<Spec>> => new Map(resources.map((resource) => [key(resource), resource]))

function groupsOf<Spec>(
  resources: readonly Resource<Spec>[],
  keys: (resource: Resource<Spec>) => readonly string[],
): Group<Spec> {
  const groups = new Map<string, Resource<Spec>[]>()
  for (const resource of resources)
    for (const key of keys(resource)) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [resource])
      else group.push(resource)
    }
  return groups
}

function keepingTables(now: World, previous: World): World {
  const entries = Object.entries(now).map(([name, table]) => [
    name,
    keepingRows(table as Table<unknown>, previous[name as keyof World]),
  ])
  const kept = Object.fromEntries(entries) as Record<string, Table<unknown>>
  return kept as unknown as World
}

function keepingRows(now: Table<unknown>, before: Table<unknown>): Table<unknown> {
  const kept = new Map<string, unknown>()
  let same = now.size === before.size
  for (const [key, row] of now) {
    const old = before.get(key)
    kept.set(key, isSameRow(row, old) ? old : row)
    same &&= kept.get(key) === old
  }
  return same ? before : kept
}

const isSameRow = (row: unknown, old: unknown): boolean =>
  row === old ||
  (Array.isArray(row) &&
    Array.isArray(old) &&
    row.length === old.length &&
    row.every((member, index) => member === old[index]))
