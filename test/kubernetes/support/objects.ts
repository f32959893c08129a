// Objects that tests with files do not need and clusters do.

import type { AnyObject } from '../../../testing/api-call.js'
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

/** An EndpointSlice. All endpoints have the first one's port; other ports need another slice. */
export const endpointSlice = (
  of: string,
  endpoints: readonly Endpoint[],
  name = `${of}-1`,
): object => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, labels: { 'kubernetes.io/service-name': of } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: endpoints[0]?.port ?? 80, protocol: 'TCP' }],
  endpoints: endpoints.map(({ address }) => ({
    addresses: [address],
    conditions: { ready: true },
  })),
})

/** A TLS Secret with a certificate and key in PEM. */
export const tlsSecret = (name: string, { cert, key }: { cert: string; key: string }): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  type: 'kubernetes.io/tls',
  stringData: { 'tls.crt': cert, 'tls.key': key },
})

/**
 * A policy for an HTTPRoute, by default "app".
 * @param traffic the policy's spec.traffic.
 */
export const policy = (name: string, traffic: object, route = 'app'): object => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: route }],
    traffic,
  },
})

export const inNamespace = (namespace: string, object: object): object => ({
  ...object,
  metadata: { ...(object as AnyObject).metadata, namespace },
})
