// N routes and policies of a cluster, all to one backend that nobody needs: Envoy answers for it.

export const PATHS = '/route-'

const GATEWAY_API = 'gateway.networking.k8s.io'
const OURS = 'policy.gatehouse.dev'

export const clusterObjects = (port: number): readonly object[] => [
  {
    apiVersion: `${GATEWAY_API}/v1`,
    kind: 'GatewayClass',
    metadata: { name: 'gatehouse' },
    spec: { controllerName: `${OURS}/gatehouse` },
  },
  {
    apiVersion: `${GATEWAY_API}/v1`,
    kind: 'Gateway',
    metadata: { name: 'gateway' },
    spec: {
      gatewayClassName: 'gatehouse',
      listeners: [{ name: 'http', port, protocol: 'HTTP' }],
    },
  },
]

/** version: makes its path another one than before. */
export const routeOf = (index: number, version: string): object => ({
  apiVersion: `${GATEWAY_API}/v1`,
  kind: 'HTTPRoute',
  metadata: { name: `route-${String(index)}` },
  spec: {
    parentRefs: [{ name: 'gateway' }],
    rules: [
      {
        matches: [{ path: { type: 'PathPrefix', value: `${PATHS}${String(index)}${version}` } }],
        filters: [
          {
            type: 'RequestRedirect',
            requestRedirect: { path: { type: 'ReplaceFullPath', replaceFullPath: '/' } },
          },
        ],
      },
    ],
  },
})

export const policyOf = (index: number, expression: string): object => ({
  apiVersion: `${OURS}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name: `policy-${String(index)}` },
  spec: {
    targetRefs: [{ group: GATEWAY_API, kind: 'HTTPRoute', name: `route-${String(index)}` }],
    traffic: { authorization: { policy: { matchExpressions: [expression] } } },
  },
})
