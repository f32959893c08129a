// Routes of every form, for comparing what Gatehouse explains with what a real Envoy does.

import { hook } from './guardrails.js'
import { mcpGuardPolicy } from './mcp-guards.js'
import { allow, API_GROUP, inAudit, mcpRoute, prefix, proxyPolicy, rule } from './resources.js'
import { keySet, type SigningKey } from './tokens.js'
import { route, when } from './two-backends.js'

/** Issuer of the tokens for the protected routes. */
export const ISSUER = 'https://idp.example/application/o/mcp/'

const hosts = (): readonly object[] => [
  route('exact', 'one.example', rule('/', 'backend')),
  route('wild', '*.wild.example', rule('/', 'backend')),
  route('deeper', '*.deep.wild.example', rule('/', 'backend')),
  route('narrow', 'narrow.wild.example', rule('/', 'backend')),
]

const exact = (value: string): object => ({ path: { type: 'Exact', value } })
const regex = (value: string): object => ({ path: { type: 'RegularExpression', value } })
const named = (name: string, value: string, type = 'Exact'): object => ({ name, value, type })

const matches = (): object =>
  route(
    'match',
    'match.example',
    when(exact('/exact'), 'backend'),
    when(prefix('/prefix'), 'backend'),
    when(prefix('/prefix/longer'), 'backend'),
    when(regex('/re/[0-9]+'), 'backend'),
    when({ ...prefix('/h'), headers: [named('X-Version', '2')] }, 'backend'),
    when({ ...prefix('/h'), headers: [named('x-version', '2'), named('x-more', 'y')] }, 'backend'),
    when({ ...prefix('/hr'), headers: [named('x-v', 'v[0-9]', 'RegularExpression')] }, 'backend'),
    when({ ...prefix('/joined'), headers: [named('x-list', 'a,b')] }, 'backend'),
    when({ ...prefix('/q'), queryParams: [named('q', 'b c')] }, 'backend'),
    when({ ...prefix('/qr'), queryParams: [named('q', 'b+', 'RegularExpression')] }, 'backend'),
    when({ ...prefix('/m'), method: 'PUT' }, 'backend'),
    when(prefix('/m'), 'backend'),
    when(exact('/sl/'), 'backend'),
  )

const redirect = (path: string, requestRedirect: object): object => ({
  matches: [prefix(path)],
  filters: [{ type: 'RequestRedirect', requestRedirect }],
})

const redirects = (): object =>
  route(
    'redirect',
    'redirect.example',
    redirect('/scheme', { scheme: 'https' }),
    redirect('/host', { hostname: 'other.example', statusCode: 301 }),
    redirect('/port', { port: 8443 }),
    redirect('/all', { scheme: 'https', hostname: 'other.example', port: 8443 }),
    redirect('/full', { path: { type: 'ReplaceFullPath', replaceFullPath: '/new' } }),
    redirect('/pre', { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/post' } }),
    redirect('/none', { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } }),
  )

const jwt = (key: SigningKey, more: object): object => ({
  providers: [
    { issuer: ISSUER, audiences: ['mcp'], jwks: { inline: JSON.stringify(keySet(key)) } },
  ],
  ...more,
})

const protectedRoutes = (key: SigningKey): readonly object[] => [
  mcpRoute('mcp', 'backend', '/mcp', { hostnames: ['mcp.example'] }),
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: jwt(key, {
      mcp: { provider: 'IdpOne', clientId: 'mcp', allowedOrigins: ['https://good.example'] },
    }),
    authorization: allow('jwt.team == "blue" && request.method != "PUT"'),
  }),
  route('tools', 'tools.example', rule('/', 'backend')),
  proxyPolicy('tools', 'tools', {
    authorization: {
      action: 'Deny',
      policy: { matchExpressions: ['mcp.tool.name == "drop"'] },
    },
  }),
  route('own-tools', 'own-tools.example', rule('/', 'backend')),
  proxyPolicy('own-tools', 'own-tools', {
    jwtAuthentication: jwt(key, {}),
    authorization: {
      action: 'Deny',
      policy: { matchExpressions: ['mcp.tool.name == "drop"'] },
    },
  }),
  // Policies of mode Audit alone read bodies: beside one that decides, and without one.
  ...['beside-tools', 'trial-tools'].flatMap((name) => [
    route(name, `${name}.example`, rule('/', 'backend')),
    inAudit(
      proxyPolicy(`${name}-audit`, name, {
        authorization: {
          action: 'Deny',
          policy: { matchExpressions: ['mcp.tool.name == "drop"'] },
        },
      }),
    ),
  ]),
  proxyPolicy('beside-tools', 'beside-tools', { jwtAuthentication: jwt(key, {}) }),
  route('broken', 'broken.example', rule('/', 'backend')),
  proxyPolicy('broken', 'broken', { authorization: allow('no.such.variable') }),
  route('open', 'open.example', rule('/', 'backend')),
]

/** Routes with the other parts of policies. */
const otherPolicies = (key: SigningKey): readonly object[] => [
  ...['scopes', 'limited', 'keyed', 'lists', 'audited', 'trial'].map((name) =>
    route(name, `${name}.example`, rule('/', 'backend')),
  ),
  proxyPolicy('scopes', 'scopes', {
    jwtAuthentication: jwt(key, {}),
    authorization: { policy: { requiredScopes: [{ scopes: ['tools.call'] }] } },
  }),
  proxyPolicy('limited', 'limited', { rateLimit: { local: [{ requests: 100, per: '1m' }] } }),
  proxyPolicy('keyed', 'keyed', {
    rateLimit: { local: [{ requests: 100, per: '1m', key: 'request.method' }] },
    transformation: { request: { set: { 'x-method': 'request.method' } } },
  }),
  proxyPolicy('lists', 'lists', {
    jwtAuthentication: jwt(key, {
      mcp: { provider: 'IdpOne', clientId: 'mcp', filterLists: true },
    }),
    authorization: { action: 'Deny', policy: { matchExpressions: ['mcp.tool.name == "drop"'] } },
  }),
  proxyPolicy('audited', 'audited', { jwtAuthentication: jwt(key, {}) }),
  inAudit(proxyPolicy('audited-trial', 'audited', { authorization: allow('jwt.team == "blue"') })),
  inAudit(proxyPolicy('trial', 'trial', { jwtAuthentication: jwt(key, {}) })),
]

/** Routes whose requests the Service "guard" is asked about. */
const guardedRoutes = (): readonly object[] => [
  route('llm', 'llm.example', rule('/', 'backend')),
  {
    apiVersion: `${API_GROUP}/v1alpha1`,
    kind: 'ProxyPolicy',
    metadata: { name: 'llm' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'llm' }],
      backend: { ai: { promptGuard: { request: [hook('guard')] } } },
    },
  },
  route('calls', 'calls.example', rule('/', 'backend')),
  mcpGuardPolicy('calls', { request: [hook('guard')] }),
]

/** Returns the routes. key: signs the tokens. */
export const explainedRoutes = (key: SigningKey): readonly object[] => [
  ...hosts(),
  matches(),
  redirects(),
  ...protectedRoutes(key),
  ...otherPolicies(key),
  ...guardedRoutes(),
]
