// The resources of a mesh before Gatehouse is added: a class, a Gateway, routes and backends.

import { CONTROLLER, ENVOY_VERSION } from './envoy-gateway.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const ENVOY_GATEWAY = 'gateway.envoyproxy.io/v1alpha1'

/** Where the Gateway listens. */
export const PORT = 8080

const named = (name: string): object => ({ name, namespace: 'default' })

/**
 * @param port where the Gateway listens.
 * @param more further fields of its spec.
 */
export const gatewayDocumentsFor = (port: number, more: object = {}): readonly object[] => [
  {
    apiVersion: GATEWAY_API,
    kind: 'GatewayClass',
    metadata: { name: 'eg' },
    spec: { controllerName: CONTROLLER },
  },
  {
    apiVersion: ENVOY_GATEWAY,
    kind: 'EnvoyProxy',
    metadata: named('proxy'),
    spec: { provider: { type: 'Host', host: { envoyVersion: ENVOY_VERSION } } },
  },
  {
    apiVersion: GATEWAY_API,
    kind: 'Gateway',
    metadata: named('eg'),
    spec: {
      gatewayClassName: 'eg',
      infrastructure: {
        parametersRef: { group: 'gateway.envoyproxy.io', kind: 'EnvoyProxy', name: 'proxy' },
      },
      listeners: [{ name: 'http', protocol: 'HTTP', port }],
      ...more,
    },
  },
]

export const gatewayDocuments = gatewayDocumentsFor(PORT)

/** A route for one path prefix to a Backend of the same namespace. */
export const route = (name: string, path: string, backend: string, more: object = {}): object => ({
  apiVersion: GATEWAY_API,
  kind: 'HTTPRoute',
  metadata: named(name),
  spec: {
    parentRefs: [{ name: 'eg' }],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: path } }],
        backendRefs: [{ group: 'gateway.envoyproxy.io', kind: 'Backend', name: backend }],
        ...more,
      },
    ],
  },
})

export const backend = (name: string, port: number): object => ({
  apiVersion: ENVOY_GATEWAY,
  kind: 'Backend',
  metadata: named(name),
  spec: { endpoints: [{ ip: { address: '127.0.0.1', port } }] },
})
