import { describe, expect, it } from 'vitest'
import { decodeFile } from '../../../src/resources/files/file-record.js'
import { kindsOf } from '../../../src/resources/kinds/kinds.js'

const decode = (text: string, apiGroup = 'policy.gatehouse.dev') =>
  decodeFile(Buffer.from(text), 'f.yaml', kindsOf(apiGroup))

const problemsOf = (text: string) =>
  decode(text).problems.map(({ source, message }) => `${source} ${message}`)

const HEADS = {
  ProxyPolicy: 'apiVersion: policy.gatehouse.dev/v1alpha1',
  ProxyBackend: 'apiVersion: policy.gatehouse.dev/v1alpha1',
  ProxyParameters: 'apiVersion: policy.gatehouse.dev/v1alpha1',
  GatewayClass: 'apiVersion: gateway.networking.k8s.io/v1',
  Gateway: 'apiVersion: gateway.networking.k8s.io/v1',
  HTTPRoute: 'apiVersion: gateway.networking.k8s.io/v1',
  BackendTLSPolicy: 'apiVersion: gateway.networking.k8s.io/v1',
  ReferenceGrant: 'apiVersion: gateway.networking.k8s.io/v1',
  Service: 'apiVersion: v1',
  Secret: 'apiVersion: v1',
  ConfigMap: 'apiVersion: v1',
  EndpointSlice: 'apiVersion: discovery.k8s.io/v1',
}
type KindName = keyof typeof HEADS

/** Three lines of head (apiVersion, kind, metadata), then the body: its first line is line 4. */
const resource = (kind: KindName, body: string) =>
  `${HEADS[kind]}\nkind: ${kind}\nmetadata: { name: x }\n${body}`

const TARGET = `targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: r }]`

/** The policy's provider stands on line 8. */
const withProvider = (provider: string) =>
  `spec:\n  ${TARGET}\n  traffic:\n    jwtAuthentication:\n      providers: [${provider}]`
const PROVIDER = `{ issuer: i, jwks: { inline: '{}' } }`
/** The mcp object begins on line 10. */
const withMcp = (mcp: string) => `${withProvider(PROVIDER)}\n      mcp:\n        ${mcp}`
/** The webhook stands on line 9. */
const withWebhook = (webhook: string) =>
  `spec:\n  ${TARGET}\n  backend:\n    ai:\n      promptGuard:\n        request: [{ webhook: ${webhook} }]`

describe('what a kind decodes to', () => {
  it.each<[string, KindName, string, unknown]>([
    [
      'a policy with its defaults',
      'ProxyPolicy',
      withMcp('provider: IdpOne'),
      {
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'r' }],
        traffic: {
          jwtAuthentication: {
            mode: 'Strict',
            providers: [{ issuer: 'i', jwks: { inline: '{}' } }],
            mcp: { provider: 'IdpOne', challengeDetails: false, corsHeaders: 'Extended' },
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
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'r' }],
        backend: {
          ai: {
            promptGuard: {
              request: [
                {
                  webhook: {
                    backendRef: { group: '', kind: 'Service', name: 'w', port: 80 },
                    headers: {},
                    failureMode: 'FailClosed',
                    inspectToolCalls: false,
                  },
                },
              ],
              response: [],
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
              challengeDetails: false,
              corsHeaders: 'Extended',
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
      `spec: { ports: [{ port: 80, targetPort: http }], selector: { a: b }, ipFamilies: [IPv4], externalName: null }\nstatus: { loadBalancer: {} }`,
      {
        type: 'ClusterIP',
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

describe('what is refused, where, and in which words', () => {
  it.each<[KindName, string, string]>([
    [
      'ProxyPolicy',
      `sepc: {}\nspec: { ${TARGET} }`,
      'f.yaml:4:1 sepc: unknown field, did you mean spec?',
    ],
    ['ProxyPolicy', `spec: {}`, 'f.yaml:4:7 spec.targetRefs: is missing, expected a list'],
    [
      'ProxyPolicy',
      `spec: { targetRefs: [] }`,
      'f.yaml:4:21 spec.targetRefs: has too few entries, expected at least 1',
    ],
    [
      'ProxyPolicy',
      `spec:\n  targetRefs: [{ kind: HTTPRoute, name: r }]`,
      'f.yaml:5:16 spec.targetRefs[0].group: is missing, expected a string',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  trafic: {}`,
      'f.yaml:6:3 spec.trafic: unknown field, did you mean traffic?',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { rateLimit: {} }`,
      'f.yaml:6:14 spec.traffic.rateLimit: unknown field, expected one of jwtAuthentication, authorization',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic:\n    authorization:`,
      'f.yaml:7:19 spec.traffic.authorization: is empty (null), expected a map',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic:\n    authorization: { action: allow, policy: { matchExpressions: [] } }`,
      'f.yaml:7:30 spec.traffic.authorization.action: "allow" is not one of Allow, Deny, Require; did you mean Allow?',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic:\n    authorization: { policy: { matchExpressions: jwt.sub } }`,
      'f.yaml:7:50 spec.traffic.authorization.policy.matchExpressions: "jwt.sub" is not a list',
    ],
    [
      'ProxyPolicy',
      withProvider(`{ issuer: 5, jwks: { inline: '{}' } }`),
      'f.yaml:8:29 spec.traffic.jwtAuthentication.providers[0].issuer: 5 is not a string (put it in quotes)',
    ],
    [
      'ProxyPolicy',
      withProvider(`{ issuer: i, audiences: [], jwks: { inline: '{}' } }`),
      'f.yaml:8:43 spec.traffic.jwtAuthentication.providers[0].audiences: has too few entries, expected at least 1',
    ],
    [
      'ProxyPolicy',
      withProvider(`{ issuer: i, jwks: { remote: { backendRef: { name: a, port: '80' } } } }`),
      'f.yaml:8:79 spec.traffic.jwtAuthentication.providers[0].jwks.remote.backendRef.port: "80" is not an integer (leave the quotes out)',
    ],
    [
      'ProxyPolicy',
      withMcp('provider: IdpTow'),
      'f.yaml:10:19 spec.traffic.jwtAuthentication.mcp.provider: "IdpTow" is not one of IdpOne, IdpTwo; did you mean IdpTwo?',
    ],
    [
      'ProxyPolicy',
      withMcp('resourceMetadata: { resource: a.example/mcp }'),
      'f.yaml:10:39 spec.traffic.jwtAuthentication.mcp.resourceMetadata.resource: "a.example/mcp" is not an absolute http or https URL',
    ],
    [
      'ProxyPolicy',
      withMcp('resourceMetadata: { scopesSupported: openid }'),
      'f.yaml:10:46 spec.traffic.jwtAuthentication.mcp.resourceMetadata.scopesSupported: "openid" is not a list',
    ],
    [
      'ProxyPolicy',
      withMcp('challengeDetails: "true"'),
      'f.yaml:10:27 spec.traffic.jwtAuthentication.mcp.challengeDetails: "true" is not true or false (leave the quotes out)',
    ],
    [
      'ProxyPolicy',
      withWebhook('{ backendRef: { name: w, port: 80 }, timeout: 5s }'),
      'f.yaml:9:67 spec.backend.ai.promptGuard.request[0].webhook.timeout: unknown field, expected one of backendRef, headers, failureMode, inspectToolCalls',
    ],
    [
      'ProxyPolicy',
      withWebhook('{ backendRef: { name: w, port: 70000 } }'),
      'f.yaml:9:61 spec.backend.ai.promptGuard.request[0].webhook.backendRef.port: 70000 is out of range, expected at most 65535',
    ],
    [
      'ProxyPolicy',
      withWebhook('{ backendRef: { name: w, port: 80 }, headers: { "": a } }'),
      'f.yaml:9:78 spec.backend.ai.promptGuard.request[0].webhook.headers[""]: this key cannot be used here: must not be empty',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  backend: { http: { requestTimeout: 0ms } }`,
      'f.yaml:6:38 spec.backend.http.requestTimeout: requestTimeout must be at least 1ms',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  backend: { http: { requestTimeout: 5 seconds } }`,
      'f.yaml:6:38 spec.backend.http.requestTimeout: "5 seconds" is not a duration such as 30s, 500ms or 1m30s',
    ],
    [
      'ProxyBackend',
      `spec: { static: { host: 'http://a', port: 80 } }`,
      'f.yaml:4:25 spec.static.host: "http://a" is not a host name or an IP address (without scheme, brackets, port or path)',
    ],
    [
      'ProxyBackend',
      'spec: { static: { host: a, port: 80.5 } }',
      'f.yaml:4:34 spec.static.port: 80.5 is not an integer',
    ],
    ['ProxyBackend', 'spec: { static: [] }', 'f.yaml:4:17 spec.static: a list is not a map'],
    [
      'ProxyParameters',
      'spec: { env: [{ name: A, value: 100 }] }',
      'f.yaml:4:33 spec.env[0].value: 100 is not a string (put it in quotes)',
    ],
    ['GatewayClass', 'spec: {}', 'f.yaml:4:7 spec.controllerName: is missing, expected a string'],
    [
      'Gateway',
      'spec: { gatewayClassName: c, listners: [], listeners: [{ name: l, port: 1, protocol: HTTP }] }',
      'f.yaml:4:30 spec.listners: unknown field, did you mean listeners?',
    ],
    [
      'Gateway',
      'spec: { gatewayClassName: c, listeners: [{ name: l, port: 0, protocol: HTTP }] }',
      'f.yaml:4:59 spec.listeners[0].port: 0 is out of range, expected at least 1',
    ],
    [
      'HTTPRoute',
      'spec: { rules: [{ filters: [{ type: Cors, cors: {} }] }] }',
      'f.yaml:4:37 spec.rules[0].filters[0].type: "Cors" is not one of RequestHeaderModifier, ResponseHeaderModifier, RequestRedirect, URLRewrite, CORS, RequestMirror, ExtensionRef, ExternalAuth; did you mean CORS?',
    ],
    [
      'HTTPRoute',
      'spec: { rules: [{ filters: [{ type: CORS }] }] }',
      'f.yaml:4:29 spec.rules[0].filters[0].cors: is missing, expected a map',
    ],
    [
      'HTTPRoute',
      'spec: { rules: [{ filters: [{ type: CORS, cors: { allowOrigin: [a] } }] }] }',
      'f.yaml:4:51 spec.rules[0].filters[0].cors.allowOrigin: unknown field, did you mean allowOrigins?',
    ],
    [
      'HTTPRoute',
      'spec: { rules: [{ matches: [{ path: { type: Prefix, value: / } }] }] }',
      'f.yaml:4:45 spec.rules[0].matches[0].path.type: "Prefix" is not one of Exact, PathPrefix, RegularExpression',
    ],
    [
      'HTTPRoute',
      'spec: { rules: [{ filters: [{ type: RequestRedirect, requestRedirect: { statusCode: 200 } }] }] }',
      'f.yaml:4:85 spec.rules[0].filters[0].requestRedirect.statusCode: 200 is not one of 301, 302, 303, 307, 308',
    ],
    [
      'BackendTLSPolicy',
      `spec: { targetRefs: [{ group: '', kind: Service, name: s }], validation: {} }`,
      'f.yaml:4:74 spec.validation.hostname: is missing, expected a string',
    ],
    [
      'ReferenceGrant',
      `spec: { from: [{ group: a, kind: b, namespace: c }] }`,
      'f.yaml:4:7 spec.to: is missing, expected a list',
    ],
    [
      'Service',
      'spec: { ports: [{ port: http }] }',
      'f.yaml:4:25 spec.ports[0].port: "http" is not an integer',
    ],
    [
      'EndpointSlice',
      'addressType: IPv5\nendpoints: []',
      'f.yaml:4:14 addressType: "IPv5" is not one of IPv4, IPv6, FQDN; did you mean IPv4?',
    ],
    [
      'Secret',
      'data: { tls.key: "-----BEGIN" }',
      'f.yaml:4:18 data["tls.key"]: the string here is not base64',
    ],
    ['ConfigMap', 'data: { a: 5 }', 'f.yaml:4:12 data.a: 5 is not a string (put it in quotes)'],
  ])('%s: %s', (kind, body, expected) => {
    expect(problemsOf(resource(kind, body))).toEqual([expected])
    expect(decode(resource(kind, body)).resources).toEqual([])
  })

  it('quotes at most a line of what it refuses', () => {
    const [problem] = problemsOf(
      resource('ProxyBackend', `spec: { static: { host: a, port: ${'9'.repeat(5)}, x: 1 } }`),
    )
    expect(problem).toBe('f.yaml:4:41 spec.static.x: unknown field, expected one of host, port')
    const [long] = problemsOf(
      resource('ProxyBackend', `spec: { static: { host: "${'/'.repeat(500)}", port: 1 } }`),
    )
    expect(long?.length).toBeLessThan(250)
  })

  it('says of whom the problem is', () => {
    const text = resource('ProxyBackend', 'spec: {}').replace('name: x', 'name: x, namespace: n')
    expect(decode(text).problems[0]).toEqual({
      source: 'f.yaml:4:7',
      message: 'spec.static: is missing, expected a map',
      apiVersion: 'policy.gatehouse.dev/v1alpha1',
      kind: 'ProxyBackend',
      namespace: 'n',
      name: 'x',
    })
  })
})

describe('fields of the Gateway API that are not implemented', () => {
  it.each<[KindName, string, string[]]>([
    [
      'HTTPRoute',
      'spec: { useDefaultGateways: All, rules: [{ retry: {}, filters: [{ type: RequestMirror, requestMirror: {} }] }] }',
      ['spec.useDefaultGateways', 'spec.rules[0].retry', 'spec.rules[0].filters[0].requestMirror'],
    ],
    [
      'Gateway',
      'spec: { gatewayClassName: c, addresses: [], tls: {}, listeners: [{ name: l, port: 1, protocol: HTTP, tls: { options: {} } }] }',
      ['spec.addresses', 'spec.tls', 'spec.listeners[0].tls.options'],
    ],
    ['HTTPRoute', 'spec: { somethingNewer: 1 }', ['spec.somethingNewer']],
  ])('%s: %s', (kind, body, expected) => {
    const { resources, problems } = decode(resource(kind, body))
    expect(problems).toEqual([])
    expect([...(resources[0]?.resource.unsupported ?? [])].sort()).toEqual(expected.sort())
  })
})

describe('which documents are resources', () => {
  it.each([
    ['', []],
    ['---\n# nothing\n---\n', []],
    [
      'kind: ProxyPolicy',
      ['f.yaml:1:1 apiVersion: is missing, expected the API of a resource, e.g. v1'],
    ],
    ['apiVersion: v1', ['f.yaml:1:1 kind: is missing, expected the kind of a resource']],
    ['- a', ['f.yaml:1:1 a document must be a resource: a map with apiVersion and kind']],
    [
      'apiVersion: policy.gatehouse.dev/v1alpha1\nkind: ProxyPolcy',
      ['f.yaml:2:7 kind: "ProxyPolcy" is not a kind; did you mean ProxyPolicy?'],
    ],
    [
      'apiVersion: policy.gatehouse.dev/v1alpha1\nkind: Guard',
      ['f.yaml:2:7 kind: "Guard" is not one of ProxyPolicy, ProxyBackend, ProxyParameters'],
    ],
    [
      'apiVersion: policy.example.com/v1alpha1\nkind: ProxyPolicy',
      [
        'f.yaml:1:13 apiVersion: "policy.example.com" is not the API group of ProxyPolicy, expected policy.gatehouse.dev/v1alpha1 (the API group is a setting: --api-group)',
      ],
    ],
    [
      'apiVersion: policy.gatehouse.dev/v1\nkind: ProxyPolicy',
      [
        'f.yaml:1:13 apiVersion: "policy.gatehouse.dev/v1" is not a version of ProxyPolicy that is read here, expected policy.gatehouse.dev/v1alpha1',
      ],
    ],
    [
      'apiVersion: gateway.networking.k8s.io/v1\nkind: HttpRoute',
      ['f.yaml:2:7 kind: "HttpRoute" is not a kind; did you mean HTTPRoute?'],
    ],
    [
      'apiVersion: gateway.network.k8s.io/v1\nkind: HTTPRoute',
      [
        'f.yaml:1:13 apiVersion: "gateway.network.k8s.io" is not the API group of HTTPRoute, expected gateway.networking.k8s.io/v1',
      ],
    ],
  ])('%j', (text, expected) => {
    expect(problemsOf(text)).toEqual(expected)
  })

  it.each([
    ['apps/v1', 'Deployment'],
    ['v1', 'PersistentVolume'],
    ['v1', 'ServiceAccount'],
    ['gateway.networking.k8s.io/v1', 'GRPCRoute'],
    ['gateway.networking.k8s.io/v1alpha2', 'TCPRoute'],
    ['networking.istio.io/v1', 'Gateway'],
    ['serving.knative.dev/v1', 'Service'],
    ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'],
  ])('leaves alone %s %s, with a note', (apiVersion, kind) => {
    const { problems, notes, resources } = decode(`apiVersion: ${apiVersion}\nkind: ${kind}`)
    expect([problems, resources]).toEqual([[], []])
    expect(notes.map(({ source, message }) => `${source} ${message}`)).toEqual([
      `f.yaml:1:1 ${kind} is not a kind that Gatehouse reads: left alone`,
    ])
  })

  it('reads our kinds in the API group that is set', () => {
    const text = resource('ProxyBackend', 'spec: { static: { host: a, port: 1 } }')
    const other = text.replace('policy.gatehouse.dev', 'policy.example.com')
    expect(decode(other, 'policy.example.com').resources).toHaveLength(1)
    expect(decode(text, 'policy.example.com').problems).toHaveLength(1)
  })

  it('keeps the labels of a Namespace, and nothing else of it', () => {
    const { resources, problems } = decode(
      'apiVersion: v1\nkind: Namespace\nmetadata: { name: shop, labels: { team: a }, annotations: { b: c } }\nspec: { finalizers: [kubernetes] }\nstatus: { phase: Active }',
    )
    expect(problems).toEqual([])
    expect(resources[0]).toMatchObject({ collection: 'namespaces' })
    expect(resources[0]?.resource.metadata).toEqual({
      namespace: '',
      name: 'shop',
      labels: { team: 'a' },
    })
    expect(resources[0]?.resource.spec).toEqual({})
  })

  it('puts a document without a namespace into default, and a GatewayClass into none', () => {
    const text = `${resource('Service', 'spec: {}')}\n---\n${resource('GatewayClass', 'spec: { controllerName: c }')}`
    expect(decode(text).resources.map((each) => each.resource.metadata.namespace)).toEqual([
      'default',
      '',
    ])
  })

  it('reads metadata as a cluster writes it', () => {
    const text = `apiVersion: v1
kind: Service
metadata:
  name: x
  namespace: n
  creationTimestamp: "2026-01-02T03:04:05Z"
  generation: 3
  labels: { a: b }
  annotations: null
  managedFields: [{ manager: kubectl }]
  resourceVersion: "5"
spec: {}`
    expect(decode(text).resources[0]?.resource.metadata).toEqual({
      namespace: 'n',
      name: 'x',
      labels: { a: 'b' },
      generation: 3,
      creationTimestamp: Date.UTC(2026, 0, 2, 3, 4, 5),
    })
  })

  it.each([
    ['metadata: {}', 'f.yaml:3:11 metadata.name: is missing, expected a string'],
    [
      'metadata: { name: a/b }',
      'f.yaml:3:19 metadata.name: "a/b" is not a name of lower-case letters, digits, "-" and "."',
    ],
    [
      'metadata: { name: a, namespace: N }',
      'f.yaml:3:33 metadata.namespace: "N" is not a namespace of lower-case letters, digits and "-"',
    ],
    ['metadata: { name: 7 }', 'f.yaml:3:19 metadata.name: 7 is not a string (put it in quotes)'],
  ])('refuses %s', (metadata, expected) => {
    expect(problemsOf(`apiVersion: v1\nkind: Service\n${metadata}\nspec: {}`)).toEqual([expected])
  })

  it('reads the items of a List, and says which of them is wrong', () => {
    const text = `apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Service
    metadata: { name: a }
    spec: {}
  - apiVersion: v1
    kind: Service
    metadata: { name: b }
    spec: { ports: [{}] }`
    const { resources } = decode(text)
    expect(resources.map(({ resource: { source } }) => source)).toEqual(['f.yaml:4'])
    expect(problemsOf(text)).toEqual([
      'f.yaml:11:21 items[1].spec.ports[0].port: is missing, expected an integer',
    ])
  })
})
