// All decoded user resources, which a provider (files, Kubernetes) passes to the translation. They are immutable plain
// values, replaced as a whole; a resource that did not change stays the same object.

import type { BackendTlsPolicySpec } from './backend-tls-policy.js'
import type { ConfigMapData, NamespaceData, SecretData } from './core.js'
import type { EndpointSliceData } from './endpoint-slice.js'
import type { EntryLines } from './entry-lines.js'
import type { FieldPath } from './field-path.js'
import type { GatewaySpec } from './gateway.js'
import type { GatewayClassSpec } from './gateway-class.js'
import type { HttpRouteSpec } from './http-route.js'
import type { ListenerSetSpec } from './listener-set.js'
import type { ProxyBackendSpec } from './proxy-backend.js'
import type { ProxyParametersSpec } from './proxy-parameters.js'
import type { ProxyPolicySpec } from './proxy-policy.js'
import type { ReferenceGrantSpec } from './reference-grant.js'
import type { ServiceSpec } from './service.js'

/** A decoded resource. Spec is the output of its kind's schema. */
export interface Resource<Spec> {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
  readonly spec: Spec
  /** Where the resource was read: FILE:LINE, or "kubernetes". */
  readonly source: string
  /** Lines of its rules; absent: it has none, or was not read from a file. */
  readonly lines?: EntryLines
  /**
   * Paths of fields that its API defines and Gatehouse does not implement (decision 27), e.g.
   * spec.rules[0].filters[1].requestMirror.
   */
  readonly unsupported: readonly FieldPath[]
}

/** The metadata fields (metav1.ObjectMeta) that Gatehouse reads. */
export interface Metadata {
  /** The namespace; "" for cluster-scoped kinds. */
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly generation?: number
  /** Creation time, in milliseconds since the epoch. */
  readonly creationTimestamp?: number
}

/** All resources by kind, each list sorted by namespace, then name. */
export interface Resources {
  readonly gatewayClasses: readonly Resource<GatewayClassSpec>[]
  readonly gateways: readonly Resource<GatewaySpec>[]
  readonly listenerSets: readonly Resource<ListenerSetSpec>[]
  readonly httpRoutes: readonly Resource<HttpRouteSpec>[]
  readonly proxyPolicies: readonly Resource<ProxyPolicySpec>[]
  readonly proxyBackends: readonly Resource<ProxyBackendSpec>[]
  readonly proxyParameters: readonly Resource<ProxyParametersSpec>[]
  readonly backendTlsPolicies: readonly Resource<BackendTlsPolicySpec>[]
  readonly referenceGrants: readonly Resource<ReferenceGrantSpec>[]
  readonly namespaces: readonly Resource<NamespaceData>[]
  readonly services: readonly Resource<ServiceSpec>[]
  readonly endpointSlices: readonly Resource<EndpointSliceData>[]
  readonly secrets: readonly Resource<SecretData>[]
  readonly configMaps: readonly Resource<ConfigMapData>[]
}

/** A document or field that could not be decoded: where, what is wrong, and what was expected. */
export interface Problem {
  /** FILE:LINE:COLUMN, or the path alone if the file or folder as a whole cannot be read. */
  readonly source: string
  /** For example 'spec.traffic.jwtAuthentication.mode: "strict" is not one of Strict, Optional, Permissive'. */
  readonly message: string
  /** The identity of the resource, as far as it could be read. */
  readonly apiVersion?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  /** Whether the last good version of the document stays in force; the message says so too. */
  readonly stays?: true
}

/** The complete state that a provider reports at every change. */
export interface ProviderState {
  /**
   * The resources in force. A document that does not decode now is represented by its last good version (decision 27).
   */
  readonly resources: Resources
  readonly problems: readonly Problem[]
  /** Documents that Gatehouse ignores because it does not read their kind (a Deployment): logged, but not an error. */
  readonly notes?: readonly Problem[]
  /**
   * Whether every document has decoded once (in a cluster: every kind has been listed). A first snapshot may be
   * published only then.
   */
  readonly complete: boolean
}

/** A source of resources. */
export interface ResourceProvider {
  /** Starts watching. Calls onChange with the first state before the promise resolves, and again at every change. */
  start(onChange: (state: ProviderState) => void): Promise<void>
  close(): Promise<void>
}

/** The source that messages and /status name for resources from the API server. */
export const KUBERNETES = 'kubernetes'
