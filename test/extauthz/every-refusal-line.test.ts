// Every reason for which ext_authz denies a request leaves exactly one line, which names the request.

import { expect, test } from 'vitest'
import { type AuthzTable, buildAuthzTable } from '../../src/extauthz/authz-table.js'
import type { CheckCall, CheckOptions } from '../../src/extauthz/check-context.js'
import type { Reason } from '../../src/extauthz/decision.js'
import { createDecisionLog } from '../../src/kit/decision-log.js'
import { createProbeSigns } from '../../src/kit/probe-signs.js'
import type { AuthzEntry } from '../../src/model/authz-entry.js'
import { PARTIAL_BODY_HEADER, PROBE_HEADER } from '../../src/model/names.js'
import {
  available,
  bearer,
  checker,
  checkRequest,
  entry,
  FREE_CALL,
  jwt,
  NOW,
  sign,
  signingKey,
  type TestRequest,
  UNAVAILABLE,
} from './helpers.js'

const key = await signingKey()
const stranger = await signingKey()
const newer = await signingKey('RS256', 'k2')
const policy = { policy: 'default/login', source: 'policies.yaml:7' }
const guarded = jwt(available(key.jwk))
const token = bearer(await sign(key))

interface Scenario {
  readonly entry?: Partial<AuthzEntry>
  readonly request?: TestRequest
  /** Sent in place of the request. */
  readonly bytes?: Buffer
  readonly options?: Partial<CheckOptions>
  readonly call?: Partial<CheckCall>
  /** Number of times that the request is sent, all at once; the test is about the last one. */
  readonly times?: number
  /** Fields that differ from what all lines have; undefined: the line lacks it. */
  readonly line?: object
}

const withToken = async (claims: object, header: object = {}, from = key): Promise<Scenario> => ({
  request: { headers: [bearer(await sign(from, claims, header))] },
})

const rules = (more: Partial<NonNullable<AuthzEntry['authorization']>>): Partial<AuthzEntry> => ({
  authorization: {
    deny: [],
    require: [],
    allow: [],
    policies: [{ ...policy, action: 'Allow', rules: more.allow?.length ?? 0, scopes: 1 }],
    ...more,
  },
})

const about = (action: 'Deny' | 'Require', rule: string): Partial<AuthzEntry> =>
  rules({
    ...(action === 'Deny' ? { deny: [rule] } : { require: [rule] }),
    policies: [{ ...policy, action, rules: 1, scopes: 0 }],
  })

const READS_TOOLS = about('Deny', 'mcp.tool.name == "rm"')
const LONG = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: Array(40_000).fill(1) })
const message = (body: string, ...headers: (readonly [string, string])[]): TestRequest => ({
  headers: [
    token,
    ['content-type', 'application/json'],
    ['content-length', String(body.length)],
    ...headers,
  ],
  body,
})
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

/** Fails when a check reads its entry. */
function failing(): AuthzTable {
  const table = buildAuthzTable([entry({ policy })])
  const fail = (): boolean => {
    throw new TypeError('a bug')
  }
  return {
    ...table,
    get(name) {
      const found = table.get(name)
      return found && Object.defineProperty({ ...found }, 'broken', { get: fail })
    },
  }
}

const SESSION = {
  policy: policy.policy,
  issuer: 'https://idp.example',
  sealingKeys: ['A'.repeat(43)],
}

const NO_POLICY = { policy: undefined, source: undefined }
const signs = createProbeSigns(
  () => new Uint8Array(32).fill(3),
  () => NOW * 1000,
)

/**
 * wrong-issuer guards against mistakes of Gatehouse: only providers of the token's issuer are tried. Without room for its
 * message there is no check (check-service.test.ts).
 */
type Denying = Exclude<
  Reason,
  'allowed' | 'anonymous' | 'wrong-issuer' | 'too-many-unfinished-messages'
>

/** A case for each reason; the type has all of them. */
const SCENARIOS: Readonly<Record<Denying, Scenario>> = {
  'no-token': {},
  'malformed-header': { request: { headers: [['authorization', 'Basic x']] } },
  'malformed-token': { request: { headers: [bearer('x.y.z')] } },
  'malformed-claims': await withToken({ exp: 'soon' }),
  'wrong-type': await withToken({}, { typ: 'id_token+jwt' }),
  'unknown-issuer': await withToken({ iss: 'https://other.example' }),
  'wrong-audience': await withToken({ aud: 'web' }),
  'no-expiry': await withToken({ exp: undefined }),
  expired: await withToken({ exp: NOW - 900 }),
  'not-yet-valid': await withToken({ nbf: NOW + 900 }),
  'unknown-key': await withToken({}, {}, newer),
  'bad-signature': await withToken({}, {}, stranger),
  'key-set-unavailable': { entry: { jwt: jwt(UNAVAILABLE) }, request: { headers: [token] } },
  'key-not-looked-up': {
    ...(await withToken({}, {}, newer)),
    options: { refetchKeySet: () => Promise.resolve({ isAnswered: false, isOlder: false }) },
  },
  deadline: { ...(await withToken({}, {}, newer)), call: { deadline: 0 } },
  'path-trick': { request: { path: '/mcp/..;/x', headers: [token] } },
  'path-mismatch': { request: { path: '/other', headers: [token] } },
  'origin-not-allowed': {
    entry: { allowedOrigins: ['https://app.example'] },
    request: { headers: [token, ['origin', 'https://evil.example']] },
  },
  'denied-by-rule': {
    entry: about('Deny', 'request.method == "POST"'),
    request: { headers: [token] },
    line: { rule: 'matchExpressions[0]' },
  },
  'rule-required': {
    entry: about('Require', 'request.method == "GET"'),
    request: { headers: [token] },
    line: { rule: 'matchExpressions[0]' },
  },
  'no-rule-allows': {
    entry: rules({ allow: ['jwt.role == "admin"'] }),
    request: { headers: [token] },
  },
  'insufficient-scope': {
    entry: rules({ requiredScopes: [{ scopes: ['write'], impliedBy: [] }] }),
    request: { headers: [token] },
    line: { rule: 'requiredScopes[0]' },
  },
  'rule-budget': {
    entry: about('Deny', '[1, 2, 3].exists(x, x == 7)'),
    request: { headers: [token] },
    options: { ruleBudget: { steps: 1, bytes: 1 } },
    line: { rule: 'matchExpressions[0]' },
  },
  'body-not-sent': {
    entry: READS_TOOLS,
    request: { headers: [token, ['content-length', '9']] },
  },
  'not-a-message': {
    entry: READS_TOOLS,
    request: message('{}'),
    line: { verified: true, sub: 'alice' },
  },
  'header-mismatch': {
    entry: READS_TOOLS,
    request: message(LIST, ['mcp-protocol-version', '2026-07-28'], ['mcp-method', 'ping']),
  },
  'no-subject': {
    entry: { session: SESSION },
    ...(await withToken({ sub: undefined })),
    line: { verified: true, sub: undefined },
  },
  'unknown-session': {
    entry: { session: SESSION },
    request: { headers: [token, ['mcp-session-id', 'not-sealed']] },
    line: { verified: true, sub: 'alice' },
  },
  'too-many-bodies': { entry: READS_TOOLS, request: message(LONG), times: 100 },
  'body-too-large': {
    entry: { isAudited: true, audit: { jwt: guarded, policy, ...READS_TOOLS } },
    request: { headers: [token, [PARTIAL_BODY_HEADER, 'true']] },
    line: { mode: 'audit' },
  },
  'broken-policy': { entry: about('Deny', 'no expression') },
  'no-policy': { entry: { lacksPolicy: true } },
  probe: {
    request: { headers: [token, [PROBE_HEADER, 'made.up']] },
    options: { probes: signs },
  },
  'unknown-route': {
    request: { key: 'default/gone/0' },
    line: { ...NO_POLICY, route: 'unknown', key: 'default/gone/0' },
  },
  'malformed-check': {
    bytes: Buffer.from('not a message'),
    line: {
      ...NO_POLICY,
      route: 'unknown',
      requestId: undefined,
      method: undefined,
      host: undefined,
      path: undefined,
    },
  },
  'internal-error': { options: { table: failing } },
}

const TRACE = 'a'.repeat(32)
const ABOUT_ALL = [
  ['x-request-id', 'id-1'],
  ['traceparent', `00-${TRACE}-${'b'.repeat(16)}-01`],
] as const

test.each(Object.entries(SCENARIOS))('%s', async (reason, scenario) => {
  const { request = {}, options, call, times = 1 } = scenario
  const lines: Record<string, unknown>[] = []
  const decisions = createDecisionLog({
    claims: [],
    now: () => NOW * 1000,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: (msg, fields) => void lines.push({ ...fields, msg }),
  })
  const { check } = checker([entry({ policy, jwt: guarded, ...scenario.entry })], {
    decisions,
    ...options,
  })
  const headers = [...ABOUT_ALL, ...(request.headers ?? [])]
  const sent = scenario.bytes ?? checkRequest({ ...request, headers })
  const traceparent = [`00-${TRACE}-${'c'.repeat(16)}-01`]
  const answers = await Promise.all(
    Array.from({ length: times }, () =>
      check(sent, { ...FREE_CALL, metadata: () => traceparent, ...call }),
    ),
  )
  const expected = {
    msg: 'decision',
    decision: 'deny',
    reason,
    route: 'default/mcp',
    ...policy,
    requestId: 'id-1',
    traceId: TRACE,
    method: 'POST',
    host: 'gw.example',
    path: request.path ?? '/mcp',
    leftOut: 0,
    ...scenario.line,
  }
  const own = lines.filter((line) => line['reason'] === reason)
  // Of many requests at once, others are denied for another reason.
  if (times === 1) expect(lines).toHaveLength(1)
  expect(own).toHaveLength(1)
  expect(own[0]).toMatchObject(
    Object.fromEntries(Object.entries(expected).filter(([, value]) => value !== undefined)),
  )
  for (const [name, value] of Object.entries(expected))
    if (value === undefined) expect(own[0]).not.toHaveProperty(name)
  if (own[0]?.['mode'] === undefined)
    expect(answers.map(({ status }) => status)).toContain(own[0]?.['status'])
})
