// Resources as users write them, parameterised by the parts that tests vary.

import { stringify } from 'yaml'

export const API_GROUP = 'policy.gatehouse.dev'
const OURS = `${API_GROUP}/v1alpha1`
const GATEWAY_API = 'gateway.networking.k8s.io/v1'

export interface Document {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: object
  readonly spec: object
}

export const toYaml = (...documents: readonly object[]): string =>
  documents.map((document) => stringify(document)).join('---\n')

export const gateway = (
  listeners: readonly number[] | readonly object[],
  name = 'gw',
): Document => ({
  apiVersion: GATEWAY_API,
  kind: 'Gateway',
  metadata: { name },
  spec: {
    gatewayClassName: 'gatehouse',
    listeners: listeners.map((listener) =>
      typeof listener === 'number'
        ? { name: `http-${String(listener)}`, port: listener, protocol: 'HTTP' }
        : listener,
    ),
  },
})

export const proxyBackend = (
  name: string,
  { host, port }: { host: string; port: number },
): Document => ({
  apiVersion: OURS,
  kind: 'ProxyBackend',
  metadata: { name },
  spec: { static: { host, port } },
})

export const backendRef = (name: string): object => ({
  group: API_GROUP,
  kind: 'ProxyBackend',
  name,
})

export const httpRoute = (name: string, spec: object): Document => ({
  apiVersion: GATEWAY_API,
  kind: 'HTTPRoute',
  metadata: { name },
  spec: { parentRefs: [{ name: 'gw' }], ...spec },
})

/** A Gateway with one listener for the routes of all namespaces. */
export const gatewayForAll = (port = 8080): Document =>
  gateway([
    { name: 'http', port, protocol: 'HTTP', allowedRoutes: { namespaces: { from: 'All' } } },
  ])

export const prefix = (value: string): object => ({ path: { type: 'PathPrefix', value } })

/** The specification's CORS filter, as written there. */
export const CORS_FILTER = {
  type: 'CORS',
  cors: {
    allowCredentials: true,
    allowHeaders: ['Origin', 'Authorization', 'Content-Type'],
    allowMethods: ['*'],
    allowOrigins: ['*'],
    exposeHeaders: ['Origin', 'Mcp-Session-Id'],
    maxAge: 86_400,
  },
}

/** The specification's route: /mcp (or another path) and its two well-known paths, with CORS. */
export const mcpRoute = (
  name: string,
  backend: string,
  path = '/mcp',
  more: object = {},
): Document =>
  httpRoute(name, {
    ...more,
    rules: [
      {
        matches: [
          prefix(path),
          prefix(`/.well-known/oauth-protected-resource${path}`),
          prefix(`/.well-known/oauth-authorization-server${path}`),
        ],
        filters: [CORS_FILTER],
        backendRefs: [backendRef(backend)],
      },
    ],
  })

/** A rule for one path prefix. */
export const rule = (path: string, backend: string, more: object = {}): object => ({
  matches: [prefix(path)],
  backendRefs: [backendRef(backend)],
  ...more,
})

/** A policy on an HTTPRoute. */
export const proxyPolicy = (name: string, route: string, traffic: object): Document => ({
  apiVersion: OURS,
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: route }],
    traffic,
  },
})

/** The same policy in mode Audit. */
export const inAudit = (policy: Document): Document => ({
  ...policy,
  spec: { ...policy.spec, mode: 'Audit' },
})

export const remoteJwks = (backend: string, port: number, jwksPath?: string): object => ({
  remote: {
    backendRef: { ...backendRef(backend), port },
    ...(jwksPath !== undefined && { jwksPath }),
  },
})

export const allow = (...matchExpressions: readonly string[]): object => ({
  action: 'Allow',
  policy: { matchExpressions },
})
