// The log line of a decision: who was denied and why, and never any part of a token.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDecisionLog } from '../../src/kit/decision-log.js'
import type { AuthzEntry } from '../../src/model/authz-entry.js'
import { runs } from '../support/runs.js'
import {
  available,
  bearer,
  checker,
  entry,
  ISSUER,
  jwt,
  NOW,
  sign,
  signingKey,
  type TestRequest,
} from './helpers.js'

const key = await signingKey()
const stranger = await signingKey()
const guarded = jwt(available(key.jwk))
const policy = { policy: 'default/login', source: 'policies.yaml:7' }

interface Options {
  readonly refusals?: boolean
  readonly oneAllowedOf?: number
  readonly claims?: readonly string[]
}

/** Returns the log lines of these requests, one after another; time moves only if the test moves it. */
function logging(rest: Partial<AuthzEntry>, options: Options = {}) {
  const { refusals = true, oneAllowedOf = 0, claims = [] } = options
  const lines: object[] = []
  const clock = { now: NOW * 1000 }
  const decisions = createDecisionLog({
    claims,
    now: () => clock.now,
    choice: { refusals, oneAllowedOf },
    write: (message, fields) => void lines.push({ ...fields, message }),
  })
  const { check } = checker([entry({ policy, ...rest })], { decisions, now: () => clock.now })
  return { check, lines, clock, decisions }
}

async function lineOf(rest: Partial<AuthzEntry>, request: TestRequest, options?: Options) {
  const { check, lines } = logging(rest, options)
  await check(request)
  expect(lines).toHaveLength(1)
  return lines[0]
}

test('a request without a token: what was asked for, by whom, and which policy refused', async () => {
  const line = await lineOf(
    { jwt: guarded },
    {
      path: '/mcp/x?code=secret',
      headers: [
        ['x-request-id', 'id-1'],
        ['traceparent', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
      ],
    },
  )
  expect(line).toEqual({
    message: 'decision',
    decision: 'deny',
    reason: 'no-token',
    status: 401,
    route: 'default/mcp',
    ...policy,
    requestId: 'id-1',
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    method: 'POST',
    host: 'gw.example',
    path: '/mcp/x',
    leftOut: 0,
  })
})

test.each([
  ['unknown-issuer', { iss: 'https://other' }, { iss: [ISSUER] }, { iss: 'https://other' }],
  ['wrong-audience', { aud: ['x', 'y'] }, { aud: ['mcp-client'] }, { aud: ['x', 'y'] }],
  ['expired', { exp: NOW - 900 }, { exp: { after: NOW - 60 } }, { exp: NOW - 900 }],
  ['no-expiry', { exp: undefined }, { exp: { after: NOW - 60 } }, { exp: null }],
  ['not-yet-valid', { nbf: NOW + 900 }, { nbf: { until: NOW + 60 } }, { nbf: NOW + 900 }],
])('%s: what was expected, and what the token says', async (reason, claims, expected, got) => {
  const headers = [bearer(await sign(key, { ...claims, client_id: 'app' }))]
  const line = await lineOf({ jwt: guarded }, { headers }, { claims: ['aud'] })
  expect(line).toMatchObject({ reason, expected, got, verified: false })
  expect(line).toMatchObject({ sub: 'alice', client_id: 'app' })
  expect(line).not.toHaveProperty('claims')
})

const authorization: AuthzEntry['authorization'] = {
  deny: ['request.method == "PUT"', 'request.method == "PATCH"'],
  require: [],
  allow: ['jwt.role == "admin"'],
  requiredScopes: [{ scopes: ['write'], impliedBy: [] }],
  policies: [
    { policy: 'default/a', source: 'kubernetes', action: 'Deny', rules: 1, scopes: 0 },
    {
      policy: 'default/b',
      source: 'b.yaml:2',
      action: 'Allow',
      rules: 1,
      scopes: 1,
      ruleLines: [5],
      scopeLines: [8],
    },
    {
      policy: 'default/c',
      source: 'c.yaml:3',
      action: 'Deny',
      rules: 1,
      scopes: 0,
      ruleLines: [11],
    },
  ],
}

test.each([
  ['PUT', 'admin', 'denied-by-rule', 'default/a', 'kubernetes', 'matchExpressions[0]', undefined],
  ['PATCH', 'admin', 'denied-by-rule', 'default/c', 'c.yaml:3', 'matchExpressions[0]', 'c.yaml:14'],
  ['GET', 'guest', 'no-rule-allows', 'default/b', 'b.yaml:2', undefined, undefined],
  ['GET', 'admin', 'insufficient-scope', 'default/b', 'b.yaml:2', 'requiredScopes[0]', 'b.yaml:10'],
])('%s as %s: %s by %s', async (method, role, reason, name, source, rule, ruleSource) => {
  const headers = [bearer(await sign(key, { role, groups: ['x', { y: 1 }] }))]
  const line = await lineOf(
    { jwt: guarded, authorization },
    { method, headers },
    { claims: ['groups', 'absent'] },
  )
  expect(line).toMatchObject({
    reason,
    policy: name,
    source,
    status: 403,
    verified: true,
    sub: 'alice',
    claims: { groups: ['x', '{"y":1}'] },
  })
  expect((line as { rule?: string }).rule).toBe(rule)
  expect((line as { ruleSource?: string }).ruleSource).toBe(ruleSource)
})

const ALLOWING: AuthzEntry['authorization'] = {
  deny: ['request.method == "PUT"'],
  require: [],
  allow: ['jwt.role == "admin"', 'jwt.role == "root"', 'request.method == "GET"'],
  requiredScopes: [{ scopes: ['read'], impliedBy: [] }],
  policies: [
    { policy: 'default/a', source: 'a.yaml:1', action: 'Allow', rules: 1, scopes: 0 },
    { policy: 'default/b', source: 'b.yaml:2', action: 'Deny', rules: 1, scopes: 1 },
    { policy: 'default/c', source: 'c.yaml:3', action: 'Allow', rules: 2, scopes: 0 },
  ],
}

test.each([
  ['POST', 'admin', 'default/a', 'a.yaml:1', 'matchExpressions[0]'],
  ['POST', 'root', 'default/c', 'c.yaml:3', 'matchExpressions[0]'],
  ['GET', 'guest', 'default/c', 'c.yaml:3', 'matchExpressions[1]'],
])('%s as %s: allowed by %s', async (method, role, name, source, rule) => {
  const headers = [bearer(await sign(key, { role, scope: 'read' }))]
  const { check, lines } = logging(
    { jwt: guarded, authorization: ALLOWING },
    { oneAllowedOf: 1, refusals: true },
  )
  for (let i = 0; i < 3; i++) await check({ method, headers })
  expect(lines).toHaveLength(3)
  for (const line of lines)
    expect(line).toMatchObject({ decision: 'allow', policy: name, source, rule })
})

test.each<[string, Partial<AuthzEntry>, object]>([
  ['a token alone', { jwt: guarded }, policy],
  [
    'rules that deny others',
    { jwt: guarded, authorization: { ...ALLOWING, allow: [], requiredScopes: [] } },
    policy,
  ],
  ['no policy with tokens', {}, {}],
])('allowed by %s: no rule', async (_what, rest, place) => {
  const own = rest.jwt === undefined ? { policy: undefined } : {}
  const headers = [bearer(await sign(key))]
  const line = await lineOf({ ...rest, ...own }, { headers }, { oneAllowedOf: 1 })
  expect(line).toMatchObject({ decision: 'allow', ...place })
  expect(line).not.toHaveProperty('rule')
  if (rest.jwt === undefined) expect(line).not.toHaveProperty('policy')
})

test.each([
  ['one call', ['ls'], 'matchExpressions[0]'],
  ['calls that the same rule allows', ['ls', 'ls'], 'matchExpressions[0]'],
  ['calls that two rules allow', ['ls', 'cat'], undefined],
])('MCP, %s', async (_what, names, rule) => {
  const calls = names.map((name, id) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name },
  }))
  const body = JSON.stringify(calls.length === 1 ? calls[0] : calls)
  const rules = {
    deny: [],
    require: [],
    allow: ['mcp.tool.name == "ls"', 'mcp.tool.name == "cat"'],
    policies: [
      { policy: 'default/a', source: 'a.yaml:1', action: 'Allow', rules: 2, scopes: 0 },
    ] as const,
  }
  const headers = [
    bearer(await sign(key)),
    ['content-type', 'application/json'],
    ['content-length', String(body.length)],
  ] as const
  const line = await lineOf(
    { jwt: guarded, authorization: rules },
    { headers, body },
    { oneAllowedOf: 1 },
  )
  expect(line).toMatchObject({ decision: 'allow', policy: 'default/a', source: 'a.yaml:1' })
  expect((line as { rule?: string }).rule).toBe(rule)
})

function bodyOf(...calls: readonly (readonly [method: string, name: string])[]): TestRequest {
  const messages = calls.map(([method, name], id) => ({
    jsonrpc: '2.0',
    id,
    method,
    params: { name },
  }))
  const body = JSON.stringify(messages.length === 1 ? messages[0] : messages)
  return {
    body,
    headers: [
      ['content-type', 'application/json'],
      ['content-length', String(Buffer.byteLength(body))],
    ],
  }
}

test.each([
  ['one', [['tools/call', 'rm']], 'tools/call', 'rm'],
  ['the denied one of several', [['ping', 'x'], ['tools/call', 'rm']], 'tools/call', 'rm'], // prettier-ignore
  ['one without a tool', [['prompts/get', 'rm']], 'prompts/get', undefined],
  ['a long one', [['x'.repeat(9_000), 'rm']], 'x'.repeat(256), undefined],
  ['one with control characters', [['tools/call', 'r\u001b[2J\n\u202e']], 'tools/call', 'r\\u001b[2J\\u000a\\u202e'], // prettier-ignore
] as const)(
  'a call that is denied, %s: its method and tool',
  async (_what, calls, method, tool) => {
    const authorization = { deny: ['mcp.method != "ping"'], require: [], allow: [] }
    const line = await lineOf({ authorization }, bodyOf(...calls))
    expect(line).toMatchObject({ reason: 'denied-by-rule', mcpMethod: method })
    expect((line as { tool?: string }).tool).toBe(tool)
  },
)

test('a scope that calls lack: what they have in common', async () => {
  const token = bearer(await sign(key, { scope: 'read' }))
  const authorization = {
    deny: ['mcp.method == "ping"'],
    require: [],
    allow: [],
    requiredScopes: [{ scopes: ['write'], impliedBy: [] }],
  }
  const { body = '', headers = [] } = bodyOf(['tools/call', 'a'], ['tools/call', 'b'])
  const line = await lineOf({ jwt: guarded, authorization }, { body, headers: [...headers, token] })
  expect(line).toMatchObject({ reason: 'insufficient-scope', mcpMethod: 'tools/call' })
  expect(line).not.toHaveProperty('tool')
})

test('a body that is not read: the tool that the headers name, and no credentials in it', async () => {
  const call = (name: string): TestRequest => ({
    headers: [
      ['mcp-method', 'tools/call'],
      ['mcp-name', name],
    ],
  })
  expect(await lineOf({ jwt: guarded }, call('rm'))).toMatchObject({
    reason: 'no-token',
    mcpMethod: 'tools/call',
    tool: 'rm',
  })
  const token = await sign(key, { sub: 'alice' })
  expect(await lineOf({ jwt: guarded }, call(token))).toMatchObject({ tool: '[token]' })
  const other: TestRequest = { headers: [['mcp-name', 'a prompt']] }
  expect(await lineOf({ jwt: guarded }, other)).not.toHaveProperty('tool')
})

test('the tool of the call that is allowed', async () => {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'ls' },
  })
  const rules = { deny: ['mcp.tool.name == "rm"'], require: [], allow: [] }
  const headers = [
    bearer(await sign(key)),
    ['content-type', 'application/json'],
    ['content-length', String(body.length)],
  ] as const
  const request = { headers, body }
  const line = await lineOf({ jwt: guarded, authorization: rules }, request, { oneAllowedOf: 1 })
  expect(line).toMatchObject({ decision: 'allow', tool: 'ls' })
})

test('a flood is one line per route, reason and rule in ten seconds, with how many were left out', async () => {
  const { check, lines, clock } = logging({ jwt: guarded })
  for (let i = 0; i < 50; i++) await check({})
  await check({ headers: [bearer('x.y.z')] })
  expect(lines).toHaveLength(2)
  clock.now += 10_000
  await check({})
  expect(lines).toHaveLength(3)
  expect(lines[2]).toMatchObject({ reason: 'no-token', leftOut: 49 })
})

test('two callers who are denied at once have a line each, whether or not their tokens are good', async () => {
  const rules = { deny: ['request.method == "PUT"'], require: [], allow: [] }
  for (const [method, claims] of [
    ['PUT', {}],
    ['GET', { aud: 'other' }],
  ] as const) {
    const { check, lines } = logging({ jwt: guarded, authorization: rules })
    for (const sub of ['alice', 'bob', 'alice'])
      await check({ method, headers: [bearer(await sign(key, { sub, ...claims }))] })
    expect(lines).toMatchObject([{ sub: 'alice' }, { sub: 'bob' }])
  }
})

test('of a flood that ends, a line tells how many more there were, and of what', async () => {
  const { check, lines, decisions } = logging({ jwt: guarded })
  for (let i = 0; i < 50; i++) await check({})
  decisions.flush()
  expect(lines.slice(1)).toEqual([
    {
      message: 'decisions left out',
      of: 'decision',
      decision: 'deny',
      reason: 'no-token',
      route: 'default/mcp',
      policy: policy.policy,
      leftOut: 49,
    },
  ])
  for (let i = 0; i < 50; i++) await check({})
  expect(lines).toHaveLength(3)
})

test('who is let in is logged on request alone, or one of several', async () => {
  const headers = [bearer(await sign(key))]
  for (const [oneAllowedOf, expected] of [
    [0, 0],
    [1, 6],
    [3, 2],
  ] as const) {
    const { check, lines } = logging({ jwt: guarded }, { oneAllowedOf })
    for (let i = 0; i < 6; i++) expect((await check({ headers })).status).toBe(200)
    expect(lines).toHaveLength(expected)
    for (const line of lines)
      expect(line).toMatchObject({ decision: 'allow', reason: 'allowed', sub: 'alice' })
  }
})

test('none leaves no line', async () => {
  const { check, lines } = logging({ jwt: guarded }, { refusals: false })
  expect((await check({})).status).toBe(401)
  expect(lines).toEqual([])
})

test('nothing of a token, a cookie or another claim appears, wherever a client repeats it', async () => {
  const tokens = await Promise.all([sign(key, { hidden: 'zanzibar' }), sign(stranger)])
  const place = fc.constantFrom('path', 'query', 'id', 'trace', 'host', 'method', 'cookie', 'none')
  const scheme = fc.constantFrom('Bearer ', 'bearer  ', 'Basic ', 'Token ', '')
  const opaque = fc.string({
    unit: fc.constantFrom(...'abcXYZ019-_.~+/'),
    minLength: 12,
    maxLength: 60,
  })
  const secret = fc.oneof(fc.constantFrom(...tokens), opaque)
  await fc.assert(
    fc.asyncProperty(secret, place, scheme, async (token, where, prefix) => {
      const { check, lines, decisions } = logging(
        { jwt: guarded, authorization },
        { oneAllowedOf: 1 },
      )
      const at = (name: string, rest: string) => (where === name ? token : rest)
      const request: TestRequest = {
        path: `/mcp/${at('path', 'x')}?q=${at('query', '')}`,
        host: at('host', 'gw.example'),
        method: at('method', 'GET'),
        headers: [
          ['authorization', prefix + token],
          ['x-request-id', at('id', 'id-1')],
          ['traceparent', at('trace', '')],
          ['cookie', `session=${at('cookie', 'a-session-of-somebody')}`],
        ],
      }
      await check(request)
      expect(lines).toHaveLength(1)
      await check(request)
      decisions.flush()
      const text = JSON.stringify(lines)
      expect(lines).toHaveLength(2)
      for (const part of [token, ...token.split('.').filter(({ length }) => length > 20)])
        expect(text).not.toContain(part)
      expect(text).not.toContain('zanzibar')
      expect(text).not.toContain('a-session-of-somebody')
    }),
    { numRuns: runs(300) },
  )
})
