// The meshes as far as Gatehouse notices them: their flags, and what it applies for them.

import { CONTROLLER } from '../../mesh/support/envoy-gateway.js'

const LABEL = { 'policy.gatehouse.dev/controller': 'default.gatehouse' }
const GATEWAY_API = 'gateway.networking.k8s.io/v1'
export const GRANTS = 'gateway.networking.k8s.io/v1beta1'
export const ENVOY_FILTER = 'networking.istio.io/v1alpha3'
export const ENVOY_GATEWAY = 'gateway.envoyproxy.io/v1alpha1'
/** In another namespace than the route, which then needs a ReferenceGrant in Envoy Gateway. */
const CONNECT = 'gatehouse.kube-public.svc.cluster.local:18000'

/** An object that was applied earlier, and that no route needs any more. */
const leftOver = (apiVersion: string, kind: string, spec: object, name = 'old'): object => ({
  apiVersion,
  kind,
  spec,
  metadata: { name, namespace: 'kube-public', labels: LABEL },
})

const toOldRoute = {
  targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'old' }],
}

const oldRoute = leftOver(GATEWAY_API, 'HTTPRoute', { parentRefs: [{ name: 'none' }] })

/** A mesh, as far as Gatehouse notices it. */
export interface Mesh {
  readonly name: 'istio' | 'envoy-gateway'
  readonly controller: string
  readonly flags: readonly string[]
  /** By the plural of their kind. */
  readonly leftOvers: Readonly<Record<string, object>>
  /** What the policy needs. */
  readonly needed: readonly string[]
}

export const istio: Mesh = {
  name: 'istio',
  controller: 'istio.io/gateway-controller',
  flags: ['--for', 'istio', '--connect', CONNECT],
  leftOvers: {
    envoyfilters: leftOver(ENVOY_FILTER, 'EnvoyFilter', {
      configPatches: [{ applyTo: 'CLUSTER', patch: { operation: 'MERGE', value: {} } }],
    }),
    httproutes: oldRoute,
    services: leftOver('v1', 'Service', { ports: [{ port: 80 }] }, 'gatehouse-closed'),
  },
  needed: [
    'EnvoyFilter gatehouse-edge',
    'EnvoyFilter gatehouse.default.mcp',
    'HTTPRoute gatehouse-documents-mcp',
    'Secret gatehouse-probe',
    'Service gatehouse-closed',
  ],
}

export const envoyGateway: Mesh = {
  name: 'envoy-gateway',
  controller: CONTROLLER,
  flags: [
    '--for',
    'envoy-gateway',
    '--route-key',
    'envoy-gateway',
    '--connect',
    CONNECT,
    '--closed',
    '127.0.0.1:18009',
  ],
  leftOvers: {
    clienttrafficpolicies: leftOver(ENVOY_GATEWAY, 'ClientTrafficPolicy', {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'old' }],
    }),
    securitypolicies: leftOver(ENVOY_GATEWAY, 'SecurityPolicy', toOldRoute),
    envoyextensionpolicies: leftOver(ENVOY_GATEWAY, 'EnvoyExtensionPolicy', toOldRoute),
    backendtrafficpolicies: leftOver(ENVOY_GATEWAY, 'BackendTrafficPolicy', toOldRoute),
    httproutes: oldRoute,
    referencegrants: leftOver(GRANTS, 'ReferenceGrant', {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'default' }],
      to: [{ group: '', kind: 'Service' }],
    }),
  },
  needed: [
    'BackendTrafficPolicy gatehouse-mcp',
    'ClientTrafficPolicy gatehouse-edge',
    'EnvoyExtensionPolicy gatehouse-documents-mcp',
    'HTTPRoute gatehouse-documents-mcp',
    'ReferenceGrant gatehouse',
    'ReferenceGrant gatehouse-closed',
    'Secret gatehouse-probe',
    'SecurityPolicy gatehouse-documents-mcp',
    'SecurityPolicy gatehouse-mcp',
  ],
}
