// Resources as the translation looks them up: tables by "NAMESPACE/NAME", by target and by namespace.

import type { PatchedMap } from '../ir/patched-map.js'
import type { RemoteState } from '../ir/remote-target.js'
import type { BackendTlsPolicySpec } from '../resources/backend-tls-policy.js'
import type { ConfigMapData } from '../resources/config-map.js'
import type { EndpointSliceData } from '../resources/endpoint-slice.js'
import type { GatewayClassSpec } from '../resources/gateway-class.js'
import type { GatewaySpec } from '../resources/gateway.js'
import type { HttpRouteSpec } from '../resources/http-route.js'
import type { NamespaceData } from '../resources/namespace.js'
import type { ProxyBackendSpec } from '../resources/proxy-backend.js'
import type { ProxyParametersSpec } from '../resources/proxy-parameters.js'
import type { ProxyPolicySpec } from '../resources/proxy-policy.js'
import type { ReferenceGrantSpec } from '../resources/reference-grant.js'
import type { Resource } from '../resources/resources.js'
import type { SecretData } from '../resources/secret.js'
import type { ServiceSpec } from '../resources/service.js'

export type Table<Spec> = PatchedMap<Resource<Spec>>
export type Group<Spec> = PatchedMap<readonly Resource<Spec>[]>

export interface World {
  readonly gatewayClasses: Table<GatewayClassSpec>
  readonly gateways: Table<GatewaySpec>
  readonly httpRoutes: Table<HttpRouteSpec>
  readonly proxyBackends: Table<ProxyBackendSpec>
  readonly proxyParameters: Table<ProxyParametersSpec>
  readonly namespaces: Table<NamespaceData>
  readonly services: Table<ServiceSpec>
  readonly secrets: Table<SecretData>
  readonly configMaps: Table<ConfigMapData>
  /** By targetKey(), the oldest first. */
  readonly policiesOn: Group<ProxyPolicySpec>
  /** By targetKey(), the oldest first. */
  readonly tlsPoliciesOn: Group<BackendTlsPolicySpec>
  /** By "NAMESPACE/SERVICE". */
  readonly endpointSlices: Group<EndpointSliceData>
  /** By namespace. */
  readonly referenceGrants: Group<ReferenceGrantSpec>
  /** By WantedDocument.id. */
  readonly remote: RemoteState
}

export const keyOf = (resource: Resource<unknown>): string =>
  keyIn(resource.metadata.namespace, resource.metadata.name)

export const keyIn = (namespace: string, name: string): string => `${namespace}/${name}`

export const targetKey = (group: string, kind: string, namespace: string, name: string): string =>
  `${group}/${kind}/${namespace}/${name}`

/** By code units: the same on every machine, whatever its locale. */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
