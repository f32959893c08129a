// Objects of a cluster that files need not have.

import { API_GROUP } from '../../support/resources.js'

export const gatewayClass = (
  name = 'gatehouse',
  controllerName = `${API_GROUP}/gatehouse`,
): object => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name, namespace: undefined },
  spec: { controllerName },
})

export const service = (name: string, port = 80): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ name: 'http', port }] },
})

export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** One slice per port would be needed for more: all have the first one's. */
export const endpointSlice = (of: string, endpoints: readonly Endpoint[]): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${of}-1`, labels: { 'kubernetes.io/service-name': of } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: endpoints[0]?.port ?? 80, protocol: 'TCP' }],
  endpoints: endpoints.map(({ address }) => ({
    addresses: [address],
    conditions: { ready: true },
  })),
})

/** traffic: of spec; for the HTTPRoute of the name "app". */
export const policy = (name: string, traffic: object, route = 'app'): object => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: route }],
    traffic,
  },
})
