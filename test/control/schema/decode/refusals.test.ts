// What is rejected, where, and with which message.

import { describe, expect, it } from 'vitest'
import { formatPath } from '../../../../src/control/schema/kinds/field-path.js'
import {
  decode,
  type KindName,
  problemsOf,
  resource,
  TARGET,
  withMcp,
  withProvider,
  withWebhook,
} from './documents.js'

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
      `spec:\n  targetRefs: [{ group: gateway.networking.k8s.io, kind: Gateway, name: g, sectionName: 1 }]`,
      'f.yaml:5:89 spec.targetRefs[0].sectionName: 1 is not a string (put it in quotes)',
    ],
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
      `spec:\n  ${TARGET}\n  mode: audit`,
      'f.yaml:6:9 spec.mode: "audit" is not one of Enforce, Audit; did you mean Audit?',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  trafic: {}`,
      'f.yaml:6:3 spec.trafic: unknown field, did you mean traffic?',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { retries: {} }`,
      'f.yaml:6:14 spec.traffic.retries: unknown field, expected one of jwtAuthentication, authorization, rateLimit, transformation',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { rateLimit: { local: [] } }`,
      'f.yaml:6:34 spec.traffic.rateLimit.local: has too few entries, expected at least 1',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { rateLimit: { local: [{ requests: 0, per: 1m }] } }`,
      'f.yaml:6:47 spec.traffic.rateLimit.local[0].requests: 0 is out of range, expected at least 1',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { rateLimit: { local: [{ requests: 1.5, per: 1m }] } }`,
      'f.yaml:6:47 spec.traffic.rateLimit.local[0].requests: 1.5 is not an integer',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { rateLimit: { local: [{ requests: 1, per: 999ms }] } }`,
      'f.yaml:6:55 spec.traffic.rateLimit.local[0].per: per must be from 1s to 24h',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { rateLimit: { local: [{ requests: 1, per: 24h1s }] } }`,
      'f.yaml:6:55 spec.traffic.rateLimit.local[0].per: per must be from 1s to 24h',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { rateLimit: { local: [{ requests: 1, per: minute }] } }`,
      'f.yaml:6:55 spec.traffic.rateLimit.local[0].per: "minute" is not a duration such as 30s, 500ms or 1m30s',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { rateLimit: { local: [{ requests: 1, per: 1m, burst: 0 }] } }`,
      'f.yaml:6:66 spec.traffic.rateLimit.local[0].burst: 0 is out of range, expected at least 1',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { rateLimit: { local: [{ requests: 1, per: 1m, key: '' }] } }`,
      'f.yaml:6:64 spec.traffic.rateLimit.local[0].key: must not be empty',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { transformation: { request: { set: [x-user] } } }`,
      'f.yaml:6:48 spec.traffic.transformation.request.set: a list is not a map',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { transformation: { response: { add: { x-user: jwt.sub } } } }`,
      'f.yaml:6:44 spec.traffic.transformation.response.add: unknown field, expected one of set, remove',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  traffic: { transformation: { request: { set: { ${Array.from({ length: 17 }, (_, i) => `x-${String(i)}: jwt.sub`).join(', ')} } } } }`,
      'f.yaml:6:48 spec.traffic.transformation.request.set: has more than 16 headers',
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
      'f.yaml:7:50 spec.traffic.authorization.policy.matchExpressions: the string here is not a list',
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
      withMcp(`{ relay: { tokenEndpoint: { origin: 'https://oauth2.idp.example/token' } } }`),
      'f.yaml:10:45 spec.traffic.jwtAuthentication.mcp.relay.tokenEndpoint.origin: "https://oauth2.idp.example/token" is not a lower-case origin, such as https://oauth2.idp.example',
    ],
    [
      'ProxyPolicy',
      withMcp(`{ relay: { tokenEndpoint: {} } }`),
      'f.yaml:10:35 spec.traffic.jwtAuthentication.mcp.relay.tokenEndpoint.origin: is missing, expected a string',
    ],
    [
      'ProxyPolicy',
      withMcp('provider: IdpTow'),
      'f.yaml:10:19 spec.traffic.jwtAuthentication.mcp.provider: "IdpTow" is not one of IdpOne, IdpTwo; did you mean IdpTwo?',
    ],
    [
      'ProxyPolicy',
      withMcp('provider: Keycloak'),
      'f.yaml:10:19 spec.traffic.jwtAuthentication.mcp.provider: "Keycloak" is not one of IdpOne, IdpTwo: IdpOne is authentik and IdpTwo is Descope; leave the field out for any other',
    ],
    [
      'ProxyPolicy',
      withMcp('filterLists: yes'),
      'f.yaml:10:22 spec.traffic.jwtAuthentication.mcp.filterLists: "yes" is not true or false (write true)',
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
      'f.yaml:9:67 spec.backend.ai.promptGuard.request[0].webhook.timeout: unknown field, expected one of backendRef, headers, failureMode, inspectToolCalls, inspectTools, inspectFiles, holdBack, minInterval, mode',
    ],
    [
      'ProxyPolicy',
      withWebhook('{ backendRef: { name: w, port: 80 }, holdBack: 5000 }'),
      'f.yaml:9:77 spec.backend.ai.promptGuard.request[0].webhook.holdBack: 5000 is out of range, expected at most 4096',
    ],
    [
      'ProxyPolicy',
      withWebhook('{ backendRef: { name: w, port: 80 }, minInterval: 1ms }'),
      'f.yaml:9:80 spec.backend.ai.promptGuard.request[0].webhook.minInterval: minInterval must be from 10ms to 10s',
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
      'f.yaml:6:38 spec.backend.http.requestTimeout: "5 seconds" is not a duration such as 30s, 500ms or 1m30s; did you mean 5s?',
    ],
    [
      'ProxyPolicy',
      `spec:\n  ${TARGET}\n  backend: { http: { requestTimeout: 5 } }`,
      'f.yaml:6:38 spec.backend.http.requestTimeout: 5 is not a duration such as 30s, 500ms or 1m30s; did you mean 5s?',
    ],
    [
      'ProxyPolicy',
      withWebhook('{ backendRef: { name: w, port: 80 }, minInterval: 50 }'),
      'f.yaml:9:80 spec.backend.ai.promptGuard.request[0].webhook.minInterval: 50 is not a duration such as 30s, 500ms or 1m30s; did you mean 50ms?',
    ],
    [
      'ProxyPolicy',
      withWebhook('{ backendRef: { name: w, port: 80 }, failureMode: open }'),
      'f.yaml:9:80 spec.backend.ai.promptGuard.request[0].webhook.failureMode: "open" is not one of FailClosed, FailOpen; did you mean FailOpen?',
    ],
    [
      'HTTPRoute',
      'spec: { rules: [{ timeouts: { request: 10 } }] }',
      'f.yaml:4:40 spec.rules[0].timeouts.request: 10 is not a duration such as 30s, 500ms or 1m30s; did you mean 10s?',
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
      'f.yaml:4:45 spec.rules[0].matches[0].path.type: "Prefix" is not one of Exact, PathPrefix, RegularExpression; did you mean PathPrefix?',
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

  it.each<[KindName, string]>([
    ['HTTPRoute', 'rules: [{ matches: [{ queryParams: [{ name: key, value: 4815162342 }] }] }]'],
    ['HTTPRoute', 'rules: [{ matches: [{ headers: { x-key: 4815162342 } }] }]'],
    ['HTTPRoute', 'rules: [{ matches: [{ headers: ["x-key: 4815162342"] }] }]'],
    [
      'HTTPRoute',
      'rules: [{ filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { set: "x-key: 4815162342" } }] }]',
    ],
    [
      'HTTPRoute',
      'rules: [{ filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { add: ["x-key: 4815162342"] } }] }]',
    ],
    [
      'ProxyPolicy',
      `${TARGET}, traffic: { authorization: { policy: { requiredScopes: [{ scopes: [a], when: 4815162342 }] } } }`,
    ],
    [
      'ProxyPolicy',
      `${TARGET}, traffic: { transformation: { request: { set: { x-key: 4815162342 } } } }`,
    ],
    [
      'ProxyPolicy',
      `${TARGET}, traffic: { transformation: { response: { set: "x-key=4815162342" } } }`,
    ],
    [
      'ProxyPolicy',
      `${TARGET}, traffic: { rateLimit: { local: [{ requests: 1, per: 1m, key: 4815162342 }] } }`,
    ],
  ])('does not quote what may be a secret: %s %s', (kind, spec) => {
    const problems = problemsOf(resource(kind, `spec: { ${spec} }`))
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.join()).not.toContain('4815162342')
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

  it('names the resource that has the problem', () => {
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
      'spec: { useDefaultGateways: All, rules: [{ sessionPersistence: {}, filters: [{ type: ExternalAuth, externalAuth: {} }] }] }',
      [
        'spec.useDefaultGateways',
        'spec.rules[0].sessionPersistence',
        'spec.rules[0].filters[0].externalAuth',
      ],
    ],
    [
      'Gateway',
      'spec: { gatewayClassName: c, defaultScope: All, listeners: [{ name: l, port: 1, protocol: HTTP, tls: { options: {} } }] }',
      ['spec.defaultScope', 'spec.listeners[0].tls.options'],
    ],
    ['HTTPRoute', 'spec: { somethingNewer: 1 }', ['spec.somethingNewer']],
  ])('%s: %s', (kind, body, expected) => {
    const { resources, problems } = decode(resource(kind, body))
    expect(problems).toEqual([])
    const unsupported = resources[0]?.resource.unsupported.map(formatPath)
    expect(unsupported?.sort()).toEqual(expected.sort())
  })
})
