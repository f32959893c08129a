// The kinds that Gatehouse reads: group, versions, schema and decoding strictness of each (decision 27).

import type { z } from 'zod'
import { backendTlsPolicySpec } from './backend-tls-policy.js'
import { configMapData, namespaceData, secretData } from './core.js'
import { endpointSliceData } from './endpoint-slice.js'
import { RULE_LISTS, type RuleList } from './entry-lines.js'
import { GATEWAY_API_GROUP } from './fields.js'
import { gatewaySpec } from './gateway.js'
import { gatewayClassSpec } from './gateway-class.js'
import { httpRouteSpec } from './http-route.js'
import { listenerSetSpec } from './listener-set.js'
import { proxyBackendSpec } from './proxy-backend.js'
import { proxyParametersSpec } from './proxy-parameters.js'
import { proxyPolicySpec } from './proxy-policy.js'
import { referenceGrantSpec } from './reference-grant.js'
import type { Resources } from './resources.js'
import { serviceData } from './service.js'

/** A kind of resource that Gatehouse reads: its API group, versions and schema. */
export interface Kind {
  readonly group: string
  readonly kind: string
  readonly versions: readonly string[]
  readonly collection: keyof Resources
  readonly schema: z.ZodType
  /** Whether the schema describes spec or the whole document. */
  readonly body: 'spec' | 'document'
  /** How unknown fields are treated. own: errors. gateway-api: unsupported, or errors if misspelt. lenient: ignored. */
  readonly strictness: 'own' | 'gateway-api' | 'lenient'
  readonly clusterScoped?: boolean
  /** The lists whose entries' lines are kept; absent: none. */
  readonly ruleLists?: readonly RuleList[]
  /** Set if an API server may lack the kind: there are then no such resources. */
  readonly isOptional?: true
}

/** Returns all kinds. apiGroup is {policy_api_group} of the specification. */
export const kindsOf = (apiGroup: string): readonly Kind[] => [
  {
    ...own(apiGroup, 'ProxyPolicy', 'proxyPolicies', proxyPolicySpec),
    ruleLists: RULE_LISTS,
  },
  own(apiGroup, 'ProxyBackend', 'proxyBackends', proxyBackendSpec),
  own(apiGroup, 'ProxyParameters', 'proxyParameters', proxyParametersSpec),
  { ...gatewayApi('GatewayClass', 'gatewayClasses', gatewayClassSpec), clusterScoped: true },
  gatewayApi('Gateway', 'gateways', gatewaySpec),
  { ...gatewayApi('ListenerSet', 'listenerSets', listenerSetSpec), isOptional: true },
  gatewayApi('HTTPRoute', 'httpRoutes', httpRouteSpec),
  gatewayApi('BackendTLSPolicy', 'backendTlsPolicies', backendTlsPolicySpec),
  gatewayApi('ReferenceGrant', 'referenceGrants', referenceGrantSpec),
  { ...core('Namespace', 'namespaces', namespaceData), clusterScoped: true },
  core('Service', 'services', serviceData),
  core('Secret', 'secrets', secretData),
  core('ConfigMap', 'configMaps', configMapData),
  {
    ...core('EndpointSlice', 'endpointSlices', endpointSliceData),
    group: 'discovery.k8s.io',
  },
]

/** Gateway API kinds that Gatehouse does not read. Some are spelt like HTTPRoute but are not misspellings of it. */
export const OTHER_GATEWAY_API_KINDS: readonly string[] = [
  'GRPCRoute',
  'TCPRoute',
  'TLSRoute',
  'UDPRoute',
]

const own = (
  group: string,
  kind: string,
  collection: keyof Resources,
  schema: z.ZodType,
): Kind => ({
  group,
  kind,
  versions: ['v1alpha1'],
  collection,
  schema,
  body: 'spec',
  strictness: 'own',
})

const gatewayApi = (kind: string, collection: keyof Resources, schema: z.ZodType): Kind => ({
  group: GATEWAY_API_GROUP,
  kind,
  versions: ['v1', 'v1beta1'],
  collection,
  schema,
  body: 'spec',
  strictness: 'gateway-api',
})

const core = (kind: string, collection: keyof Resources, schema: z.ZodType): Kind => ({
  group: '',
  kind,
  versions: ['v1'],
  collection,
  schema,
  body: 'document',
  strictness: 'lenient',
})
