// Everything the users wrote, decoded: what a provider (files, Kubernetes) hands to the translation.
// Plain values, replaced whole, never mutated; a resource that did not change stays the same object.

import type { BackendTlsPolicySpec } from './backend-tls-policy.js'
import type { ConfigMapData, NamespaceData, SecretData } from './core.js'
import type { EndpointSliceData } from './endpoint-slice.js'
import type { GatewaySpec } from './gateway.js'
import type { GatewayClassSpec } from './gateway-class.js'
import type { HttpRouteSpec } from './http-route.js'
import type { ProxyBackendSpec } from './proxy-backend.js'
import type { ProxyParametersSpec } from './proxy-parameters.js'
import type { ProxyPolicySpec } from './proxy-policy.js'
import type { ReferenceGrantSpec } from './reference-grant.js'
import type { ServiceSpec } from './service.js'

/** A decoded resource. Spec: what its kind's schema gives. */
export interface Resource<Spec> {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
  readonly spec: Spec
  /** FILE:LINE for a person, or "kubernetes". */
  readonly source: string
  /** Paths of fields that its API has and we do not implement (decision 27), e.g. "spec.rules[0].filters[1].requestMirror". */
  readonly unsupported: readonly string[]
}

/** Decoded metadata (metav1.ObjectMeta), as far as it is read. */
export interface Metadata {
  /** "" for cluster-scoped kinds. */
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly generation?: number
  /** Milliseconds since the epoch. */
  readonly creationTimestamp?: number
}

/** Each sorted by namespace, then name. */
export interface Resources {
  readonly gatewayClasses: readonly Resource<GatewayClassSpec>[]
  readonly gateways: readonly Resource<GatewaySpec>[]
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

/** A document, or a field of one, that could not be decoded: where, what, and what was expected. */
export interface Problem {
  /** FILE:LINE:COLUMN; the path alone of what cannot be read as a whole. */
  readonly source: string
  /** e.g. 'spec.traffic.jwtAuthentication.mode: "strict" is not one of Strict, Optional, Permissive'. */
  readonly message: string
  /** As far as they could be read. */
  readonly apiVersion?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  /** The last good version of the document stays in force; the message says so too. */
  readonly stays?: true
}

/** What a provider reports, whole, at every change. */
export interface ProviderState {
  /** For a document that does not decode now: its last good version (decision 27). */
  readonly resources: Resources
  readonly problems: readonly Problem[]
  /** Documents that are left alone because they are none of ours (a Deployment): worth a line, no error. */
  readonly notes?: readonly Problem[]
  /** Every document has decoded once (in a cluster: every kind has been listed): only then may a first snapshot be published. */
  readonly complete: boolean
}

/** A source of resources. */
export interface ResourceProvider {
  /** Begins to watch; onChange is called with the first state before the promise resolves, and at every change after it. */
  start(onChange: (state: ProviderState) => void): Promise<void>
  close(): Promise<void>
}

/** What messages and /status name as the source. */
export const KUBERNETES = 'kubernetes'
