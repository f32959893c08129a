// The index of all resources: tables by "NAMESPACE/NAME", by target and by namespace.

import type { PersistentMap } from '../../../kit/incremental/persistent-map.js'
import { compareText } from '../../../kit/incremental/sorted-list.js'
import type { RemoteState } from '../../../model/remote-target.js'
import type { NameState } from '../../../model/resolved-name.js'
import type { GatewayName } from '../../../model/status.js'
import type { BackendTlsPolicySpec } from '../../schema/kinds/backend-tls-policy.js'
import type { ConfigMapData, NamespaceData, SecretData } from '../../schema/kinds/core.js'
import type { EndpointSliceData } from '../../schema/kinds/endpoint-slice.js'
import type { GatewaySpec } from '../../schema/kinds/gateway.js'
import type { GatewayClassSpec } from '../../schema/kinds/gateway-class.js'
import type { HttpRouteSpec } from '../../schema/kinds/http-route.js'
import type { ListenerSetSpec } from '../../schema/kinds/listener-set.js'
import type { ProxyBackendSpec } from '../../schema/kinds/proxy-backend.js'
import type { ProxyParametersSpec } from '../../schema/kinds/proxy-parameters.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import type { ReferenceGrantSpec } from '../../schema/kinds/reference-grant.js'
import type { Resource } from '../../schema/kinds/resources.js'
import type { ServiceSpec } from '../../schema/kinds/service.js'

/** Resources by keyOf(). */
export type ResourceIndex<Spec> = PersistentMap<Resource<Spec>>
/** Lists of resources by a key. */
export type Group<Spec> = PersistentMap<readonly Resource<Spec>[]>

/** Lists of names by a key. */
export type Names = PersistentMap<readonly string[]>

/** The index of all resources. */
export interface World {
  readonly gatewayClasses: ResourceIndex<GatewayClassSpec>
  readonly gateways: ResourceIndex<GatewaySpec>
  readonly listenerSets: ResourceIndex<ListenerSetSpec>
  readonly httpRoutes: ResourceIndex<HttpRouteSpec>
  readonly proxyBackends: ResourceIndex<ProxyBackendSpec>
  readonly proxyParameters: ResourceIndex<ProxyParametersSpec>
  readonly namespaces: ResourceIndex<NamespaceData>
  readonly services: ResourceIndex<ServiceSpec>
  readonly secrets: ResourceIndex<SecretData>
  readonly configMaps: ResourceIndex<ConfigMapData>
  /** ListenerSets by the gatewayKey() of their Gateway, the oldest first. */
  readonly listenerSetsOf: Group<ListenerSetSpec>
  /** By targetKey(), the oldest first. */
  readonly policiesOn: Group<ProxyPolicySpec>
  /** Policies that make the gateway an authorization server, by relayTokensKey(), oldest first. */
  readonly relaysOf: Group<ProxyPolicySpec>
  /** By targetKey(), the oldest first. */
  readonly tlsPoliciesOn: Group<BackendTlsPolicySpec>
  /** BackendTLSPolicies by their namespace, the oldest first. */
  readonly tlsPoliciesIn: Group<BackendTlsPolicySpec>
  /** EndpointSlices by "NAMESPACE/SERVICE". */
  readonly endpointSlices: Group<EndpointSliceData>
  /** Services that lead to Envoys, by the keys of their labels (envoyServiceKeys()). */
  readonly envoyServices: Group<ServiceSpec>
  /** ReferenceGrants by their namespace. */
  readonly referenceGrants: Group<ReferenceGrantSpec>
  /** Names by namespace; without duplicates, unordered. */
  readonly gatewayNames: Names
  readonly listenerSetNames: Names
  readonly httpRouteNames: Names
  readonly proxyBackendNames: Names
  readonly serviceNames: Names
  /** Fetched documents by WantedDocument.id. */
  readonly remote: RemoteState
  /** Resolved names by host name. */
  readonly names: NameState
  /** HTTPRoutes for which their namespace has no room, by keyOf() (route-room.ts). */
  readonly routesBeyond: ReadonlyMap<string, true>
  /** Services for whose endpoints their namespace has no room, by keyOf() (endpoint-room.ts). */
  readonly servicesBeyond: ReadonlyMap<string, true>
  /** Sealing keys that no Secret holds, under OWN_RELAY_KEYS; empty: there are none. */
  readonly relayKeys: ReadonlyMap<string, RelayKeys>
}

/** Keys that relays seal with. */
export interface RelayKeys {
  /** base64url of 32 bytes each; the first seals, all open. */
  readonly keys: readonly string[]
  /** Names of the files of the keys, without folders and in the same order; empty if areOwn. */
  readonly files: readonly string[]
  /** Whether this process generated the keys, so that they are lost when it ends. */
  readonly areOwn: boolean
}

/** Key of the relay keys in their table. */
export const OWN_RELAY_KEYS = 'own'

/** Returns NAMESPACE/NAME of a resource. */
export const keyOf = (resource: Resource<unknown>): string =>
  keyIn(resource.metadata.namespace, resource.metadata.name)

/** Returns NAMESPACE/NAME. */
export const keyIn = (namespace: string, name: string): string => `${namespace}/${name}`

/** Returns NAMESPACE/NAME of a Gateway. */
export const gatewayKey = ({ namespace, name }: GatewayName): string => keyIn(namespace, name)

/** Returns the Gateways without duplicates, sorted by key. */
export function uniqueGateways(gateways: Iterable<GatewayName>): readonly GatewayName[] {
  const byKey = new Map<string, GatewayName>()
  for (const gateway of gateways) byKey.set(gatewayKey(gateway), gateway)
  return [...byKey].sort(([a], [b]) => compareText(a, b)).map(([, gateway]) => gateway)
}

/** Returns the key of a Gateway or ListenerSet, for what is counted for each of its listeners. */
export const ownerKey = ({
  kind,
  namespace,
  name,
}: GatewayName & { readonly kind: string }): string => `${kind}/${keyIn(namespace, name)}`

/** Returns the key of a target of policies, or of a backend. */
export const targetKey = (group: string, kind: string, namespace: string, name: string): string =>
  `${group}/${kind}/${namespace}/${name}`
