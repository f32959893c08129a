// Gatehouse resources as a user writes them.

export const GATEWAY_API = 'gateway.networking.k8s.io'
export const OURS = 'policy.gatehouse.dev'

export const gatewayClass: object = {
  apiVersion: `${GATEWAY_API}/v1`,
  kind: 'GatewayClass',
  metadata: { name: 'gatehouse' },
  spec: { controllerName: `${OURS}/gatehouse` },
}

/** @param port the port of its only listener. */
export const gatewayAt = (port: number): object => ({
  apiVersion: `${GATEWAY_API}/v1`,
  kind: 'Gateway',
  metadata: { name: 'gateway' },
  spec: {
    gatewayClassName: 'gatehouse',
    listeners: [{ name: 'http', port, protocol: 'HTTP' }],
  },
})

/**
 * A route to the backend of the same name.
 * @param host absent to match every host.
 */
export const route = (name: string, path = `/${name}`, host?: string): object => ({
  apiVersion: `${GATEWAY_API}/v1`,
  kind: 'HTTPRoute',
  metadata: { name },
  spec: {
    parentRefs: [{ name: 'gateway' }],
    ...(host !== undefined && { hostnames: [host] }),
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: path } }],
        backendRefs: [{ group: OURS, kind: 'ProxyBackend', name }],
      },
    ],
  },
})

/** A backend on loopback. */
export const backend = (name: string, port: number): object => ({
  apiVersion: `${OURS}/v1alpha1`,
  kind: 'ProxyBackend',
  metadata: { name },
  spec: { static: { host: '127.0.0.1', port } },
})

/** A policy for the route of the same name. */
export const policy = (name: string, spec: object): object => ({
  apiVersion: `${OURS}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: { targetRefs: [{ group: GATEWAY_API, kind: 'HTTPRoute', name }], ...spec },
})
