// What each kind decodes to.

import { describe, expect, it } from 'vitest'
import { decode, type KindName, resource, withMcp, withProvider, withWebhook } from './documents.js'

describe('what a kind decodes to', () => {
  it.each<[string, KindName, string, unknown]>([
    [
      'a policy with its defaults',
      'ProxyPolicy',
      withMcp('provider: IdpOne'),
      {
        mode: 'Enforce',
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'r' }],
        traffic: {
          jwtAuthentication: {
            mode: 'Strict',
            providers: [{ issuer: 'i', jwks: { inline: '{}' } }],
            mcp: {
              provider: 'IdpOne',
              authorizationServer: 'Gateway',
              challengeDetails: false,
              corsHeaders: 'Extended',
              filterLists: false,
              bindSession: false,
            },
            forwardToken: false,
          },
        },
      },
    ],
    [
      'a key set of a Service, its path with a slash in front',
      'ProxyPolicy',
      withProvider(
        '{ issuer: i, jwks: { remote: { backendRef: { name: s, port: 80 }, jwksPath: a/jwks/ } } }',
      ),
      {
        mode: 'Enforce',
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'r' }],
        traffic: {
          jwtAuthentication: {
            mode: 'Strict',
            providers: [
              {
                issuer: 'i',
                jwks: {
                  remote: {
                    backendRef: { group: '', kind: 'Service', name: 's', port: 80 },
                    jwksPath: '/a/jwks/',
                  },
                },
              },
            ],
            forwardToken: false,
          },
        },
      },
    ],
    [
      'a webhook that fails closed',
      'ProxyPolicy',
      withWebhook('{ backendRef: { name: w, port: 80 } }'),
      {
        mode: 'Enforce',
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'r' }],
        backend: {
          ai: {
            promptGuard: {
              request: [
                {
                  mode: 'Enforce',
                  webhook: {
                    backendRef: { group: '', kind: 'Service', name: 'w', port: 80 },
                    headers: {},
                    failureMode: 'FailClosed',
                    inspectToolCalls: false,
                    inspectTools: false,
                    inspectFiles: false,
                    holdBack: 256,
                    minInterval: 300,
                    mode: 'Sync',
                  },
                },
              ],
              response: [],
              signedTexts: 'Strip',
            },
          },
        },
      },
    ],
    [
      'a timeout in milliseconds, and empty rules for the translation to refuse',
      'ProxyPolicy',
      `spec:\n  targetRefs: [{ group: '', kind: Service, name: s }]\n  backend: { http: { requestTimeout: 1m30s5ms } }\n  traffic: { authorization: { policy: { matchExpressions: [] } } }`,
      {
        mode: 'Enforce',
        targetRefs: [{ group: '', kind: 'Service', name: 's' }],
        traffic: { authorization: { action: 'Allow', policy: { matchExpressions: [] } } },
        backend: { http: { requestTimeout: 90_005 } },
      },
    ],
    [
      'resource metadata with members of any kind',
      'ProxyPolicy',
      withMcp(
        `resourceMetadata: { resource: 'https://a.example/mcp', scopesSupported: [a], extra: { deep: [1, null] } }`,
      ),
      expect.objectContaining({
        traffic: {
          jwtAuthentication: expect.objectContaining({
            mcp: {
              resourceMetadata: {
                resource: 'https://a.example/mcp',
                scopesSupported: ['a'],
                extra: { deep: [1, null] },
              },
              authorizationServer: 'Gateway',
              challengeDetails: false,
              corsHeaders: 'Extended',
              filterLists: false,
              bindSession: false,
            },
          }) as unknown,
        },
      }),
    ],
    [
      'an IPv6 backend',
      'ProxyBackend',
      `spec: { static: { host: '::1', port: 443 } }`,
      { static: { host: '::1', port: 443 } },
    ],
    [
      'parameters',
      'ProxyParameters',
      `spec: { env: [{ name: A, value: '1' }] }`,
      {
        env: [{ name: 'A', value: '1' }],
      },
    ],
    [
      'a route with one rule that matches everything',
      'HTTPRoute',
      'spec: {}',
      {
        parentRefs: [],
        hostnames: [],
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: '/' }, headers: [], queryParams: [] }],
            filters: [],
            backendRefs: [],
            timeouts: {},
          },
        ],
      },
    ],
    [
      'the defaults of references, matches, filters and timeouts of a route',
      'HTTPRoute',
      `spec:
  parentRefs: [{ name: g }]
  rules:
    - matches: [{ path: { value: /a }, headers: [{ name: h, value: v }] }]
      filters:
        - { type: CORS, cors: { allowOrigins: ['*'] } }
        - { type: RequestRedirect, requestRedirect: { port: 8443 } }
      backendRefs: [{ name: s, port: 80 }]
      timeouts: { request: 0s, backendRequest: 1h }`,
      {
        parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }],
        hostnames: [],
        rules: [
          {
            matches: [
              {
                path: { type: 'PathPrefix', value: '/a' },
                headers: [{ type: 'Exact', name: 'h', value: 'v' }],
                queryParams: [],
              },
            ],
            filters: [
              {
                type: 'CORS',
                cors: {
                  allowOrigins: ['*'],
                  allowMethods: [],
                  allowHeaders: [],
                  exposeHeaders: [],
                  allowCredentials: false,
                  maxAge: 5,
                },
              },
              { type: 'RequestRedirect', requestRedirect: { port: 8443, statusCode: 302 } },
            ],
            backendRefs: [
              { group: '', kind: 'Service', name: 's', port: 80, weight: 1, filters: [] },
            ],
            timeouts: { request: 0, backendRequest: 3_600_000 },
          },
        ],
      },
    ],
    [
      'a gateway whose listeners take routes of their own namespace',
      'Gateway',
      `spec:\n  gatewayClassName: c\n  listeners: [{ name: l, port: 443, protocol: HTTPS, tls: { certificateRefs: [{ name: s }] } }]`,
      {
        gatewayClassName: 'c',
        addresses: [],
        listeners: [
          {
            name: 'l',
            port: 443,
            protocol: 'HTTPS',
            tls: {
              mode: 'Terminate',
              certificateRefs: [{ group: '', kind: 'Secret', name: 's' }],
            },
            allowedRoutes: { namespaces: { from: 'Same' }, kinds: [] },
          },
        ],
      },
    ],
    ['a gateway class', 'GatewayClass', 'spec: { controllerName: a/b }', { controllerName: 'a/b' }],
    [
      'a TLS policy',
      'BackendTLSPolicy',
      `spec: { targetRefs: [{ group: '', kind: Service, name: s }], validation: { hostname: h, subjectAltNames: [{ type: URI, uri: 'spiffe://a' }] } }`,
      {
        targetRefs: [{ group: '', kind: 'Service', name: 's' }],
        validation: {
          hostname: 'h',
          caCertificateRefs: [],
          subjectAltNames: [{ type: 'URI', uri: 'spiffe://a' }],
        },
      },
    ],
    [
      'a reference grant',
      'ReferenceGrant',
      `spec: { from: [{ group: a, kind: b, namespace: c }], to: [{ group: '', kind: Service }] }`,
      {
        from: [{ group: 'a', kind: 'b', namespace: 'c' }],
        to: [{ group: '', kind: 'Service' }],
      },
    ],
    [
      'a Service with what Kubernetes adds to it',
      'Service',
      `spec: { ports: [{ port: 80, targetPort: http }], selector: { a: b }, ipFamilies: [IPv4], externalName: null }\nstatus: { loadBalancer: { ingress: [{ ip: 192.0.2.1, ipMode: VIP }] } }`,
      {
        type: 'ClusterIP',
        externalIPs: [],
        ingress: [{ ip: '192.0.2.1' }],
        ports: [{ name: '', port: 80, targetPort: 'http', protocol: 'TCP' }],
      },
    ],
    [
      'endpoints that are ready unless they say otherwise',
      'EndpointSlice',
      `addressType: IPv4\nendpoints: [{ addresses: [10.0.0.1] }, { addresses: [10.0.0.2], conditions: { ready: false }, nodeName: n }]\nports: [{ port: 80 }]`,
      {
        addressType: 'IPv4',
        endpoints: [
          { addresses: ['10.0.0.1'], conditions: { ready: true } },
          { addresses: ['10.0.0.2'], conditions: { ready: false } },
        ],
        ports: [{ name: '', port: 80, protocol: 'TCP' }],
      },
    ],
    [
      'the texts of a Secret, stringData over data',
      'Secret',
      `type: kubernetes.io/tls\ndata: { a: YWJj, b: eA== }\nstringData: { b: y }`,
      { type: 'kubernetes.io/tls', data: { a: 'abc', b: 'y' } },
    ],
    ['the texts of a ConfigMap', 'ConfigMap', 'data: { a: b }', { data: { a: 'b' } }],
  ])('%s', (_, kind, body, expected) => {
    const { resources, problems } = decode(resource(kind, body))
    expect(problems).toEqual([])
    expect(resources[0]?.resource.spec).toEqual(expected)
    expect(resources[0]?.resource.unsupported).toEqual([])
  })
})
