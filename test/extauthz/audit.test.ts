// Policies of mode Audit (decision 25m): what they would deny is logged and counted, and every request proceeds as if
// they did not exist.

import { expect, test } from 'vitest'
import { buildAuthzTable } from '../../src/extauthz/authz-table.js'
import type { CheckOptions } from '../../src/extauthz/check-context.js'
import type { KeySetFetch } from '../../src/extauthz/token/fresh-keys.js'
import { createDecisionLog } from '../../src/kit/decision-log.js'
import type { Authorization } from '../../src/model/authorization.js'
import type { AuthzEntry } from '../../src/model/authz-entry.js'
import { eventually } from '../../testing/eventually.js'
import {
  available,
  bearer,
  checker,
  CLAIMS,
  entry,
  jwt,
  NOW,
  sign,
  type SigningKey,
  signingKey,
  UNAVAILABLE,
} from './helpers.js'

const key = await signingKey()
const newer = await signingKey('ES256', 'newer')
const tokens = jwt(available(key.jwk))
const policy = { policy: 'default/audited', source: 'audited.yaml:3' }

const rules = (...allow: string[]): Authorization => ({
  deny: [],
  require: [],
  allow,
  policies: [{ ...policy, action: 'Allow', rules: allow.length, scopes: 0 }],
})

/** A route that has only policies of mode Audit. */
function open(audit: AuthzEntry['audit']): AuthzEntry {
  const { key: name, route, paths } = entry({})
  return { key: name, route, paths, isAudited: true, audit: { policy, ...audit } }
}

function auditing(of: AuthzEntry, options: Partial<CheckOptions> = {}) {
  const lines: object[] = []
  const decisions = createDecisionLog({
    claims: [],
    now: () => NOW * 1000,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: (_, fields) => void lines.push(fields),
  })
  return { ...checker([of], { decisions, ...options }), lines }
}

test('a request without a token passes, and is counted and logged with the answer that it would have got', async () => {
  const { check, observed, lines } = auditing(open({ jwt: tokens }))
  const answer = await check({ headers: [['x-request-id', 'id-1']] })
  expect([answer.status, answer.metadata, answer.set]).toEqual([200, undefined, []])
  expect(observed.decisions).toEqual([
    { route: 'default/mcp', decision: 'allow', reason: 'allowed' },
  ])
  expect(observed.audited).toEqual([{ route: 'default/mcp', decision: 'deny', reason: 'no-token' }])
  expect(lines).toEqual([
    expect.objectContaining({
      mode: 'audit',
      decision: 'deny',
      reason: 'no-token',
      status: 401,
      ...policy,
      route: 'default/mcp',
      requestId: 'id-1',
    }),
  ])
})

test('the line of an audit has the trace id of the call, also after the answer', async () => {
  const metadata = (): readonly string[] => [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`]
  for (const of of [open({ jwt: tokens }), entry({ audit: { jwt: tokens, policy } })]) {
    const { check, lines } = auditing(of)
    await check({}, { isCancelled: () => false, deadline: Infinity, metadata })
    await eventually(() =>
      expect(lines).toMatchObject([{ mode: 'audit', traceId: 'a'.repeat(32) }]),
    )
  }
})

test('many refusals of one kind leave one line, as those of a policy in force do', async () => {
  const { check, observed, lines } = auditing(open({ jwt: tokens }))
  for (let i = 0; i < 50; i++) await check({})
  expect(observed.audited).toHaveLength(50)
  expect(lines).toHaveLength(1)
})

test('claims of a verified token are metadata, those of any other token never', async () => {
  const stranger = await signingKey()
  const { check, observed } = auditing(open({ jwt: tokens }))
  const answerTo = async (token: string) => check({ headers: [bearer(token)] })
  const good = await answerTo(await sign(key))
  expect(good.metadata).toEqual({ jwt: CLAIMS })
  expect(good.removed).not.toContain('authorization')
  for (const bad of [
    await sign(stranger),
    await sign(key, { exp: NOW - 600 }),
    await sign(key, { aud: 'another' }),
    'no-token-at-all',
  ]) {
    const { status, metadata } = await answerTo(bad)
    expect([status, metadata]).toEqual([200, undefined])
  }
  expect(observed.audited.map(({ reason }) => reason)).toEqual([
    'allowed',
    'bad-signature',
    'expired',
    'wrong-audience',
    'malformed-token',
  ])
})

test('a token that rules would deny is verified all the same', async () => {
  const { check, observed, lines } = auditing(
    open({ jwt: tokens, authorization: rules('jwt.sub == "bob"') }),
  )
  expect((await check({ headers: [bearer(await sign(key))] })).metadata).toEqual({ jwt: CLAIMS })
  expect(observed.audited).toEqual([
    { route: 'default/mcp', decision: 'deny', reason: 'no-rule-allows' },
  ])
  expect(lines).toEqual([expect.objectContaining({ mode: 'audit', status: 403, sub: 'alice' })])
})

test('a path that would be refused passes', async () => {
  const { check, observed } = auditing(open({ jwt: tokens }))
  expect((await check({ path: '/mcp/%2e%2e/x' })).status).toBe(200)
  expect(observed.audited).toEqual([
    { route: 'default/mcp', decision: 'deny', reason: 'path-trick' },
  ])
})

test('a body that Envoy has cut passes, and would have been too large', async () => {
  const { check, observed } = auditing(open({ authorization: rules('mcp.method == "ping"') }))
  const headers: [string, string][] = [
    ['content-type', 'application/json'],
    ['x-envoy-auth-partial-body', 'true'],
  ]
  expect((await check({ headers, body: '{"jsonrpc":"2.0","meth' })).status).toBe(200)
  expect(observed.audited).toEqual([
    { route: 'default/mcp', decision: 'deny', reason: 'body-too-large' },
  ])
})

test.each([
  ['never answers', () => new Promise<never>(() => undefined)],
  ['fails', () => Promise.reject(new Error('no network'))],
])('a request does not wait for a key set whose fetch %s', async (_, refetchKeySet) => {
  const { check, observed } = auditing(open({ jwt: tokens }), { refetchKeySet })
  const { status, metadata } = await check({ headers: [bearer(await sign(newer))] })
  expect([status, metadata]).toEqual([200, undefined])
  await eventually(() =>
    expect(observed.audited).toEqual([
      { route: 'default/mcp', decision: 'deny', reason: 'key-not-looked-up' },
    ]),
  )
})

test('an unknown key is looked up in the keys of the audited policy', async () => {
  let table = buildAuthzTable([open({ jwt: tokens })])
  const { check, observed } = checker(() => table, {
    refetchKeySet: () => {
      table = buildAuthzTable([open({ jwt: jwt(available(key.jwk, newer.jwk)) })], table)
      return Promise.resolve({ isAnswered: true, isOlder: false })
    },
  })
  const headers = [bearer(await sign(newer))]
  expect((await check({ headers })).status).toBe(200)
  await eventually(() => expect(observed.audited).toHaveLength(1))
  expect(observed.audited[0]?.reason).toBe('allowed')
  expect((await check({ headers })).metadata).toEqual({ jwt: CLAIMS })
})

test('audits that wait for keys are few, and leave the places of checks alone', async () => {
  const inForce = (...keys: SigningKey[]) =>
    entry({ key: 'in-force', jwt: jwt(available(...keys.map(({ jwk }) => jwk))) })
  const audited = open({ jwt: tokens })
  let table = buildAuthzTable([audited, inForce(key)])
  let fetched: Promise<KeySetFetch> = new Promise(() => undefined)
  const { check, observed } = checker(() => table, { refetchKeySet: () => fetched })
  const headers = [bearer(await sign(newer))]
  for (let count = 0; count < 1000; count++) expect((await check({ headers })).status).toBe(200)
  await eventually(() => expect(observed.audited).toHaveLength(1000 - 64))
  expect(new Set(observed.audited.map(({ reason }) => reason))).toEqual(
    new Set(['key-not-looked-up']),
  )
  fetched = Promise.resolve({ isAnswered: true, isOlder: false })
  table = buildAuthzTable([audited, inForce(key, newer)])
  expect((await check({ key: 'in-force', headers })).status).toBe(200)
})

test('keys that were never fetched deny nothing', async () => {
  const { check, observed } = auditing(open({ jwt: jwt(UNAVAILABLE) }))
  expect((await check({ headers: [bearer(await sign(key))] })).status).toBe(200)
  expect(observed.audited[0]?.reason).toBe('key-set-unavailable')
})

test('beside policies in force, their decision is the answer, and only what they allow is audited', async () => {
  const inForce = { jwt: tokens, authorization: rules('jwt.sub == "alice"') }
  const both = entry({
    ...inForce,
    audit: { jwt: tokens, authorization: rules('jwt.team == "a"'), policy },
  })
  const { check, observed, lines } = auditing(both)
  expect((await check({})).status).toBe(401)
  expect((await check({ headers: [bearer(await sign(key, { sub: 'bob' }))] })).status).toBe(403)
  const alone = await checker([entry(inForce)]).check({ headers: [bearer(await sign(key))] })
  expect(await check({ headers: [bearer(await sign(key))] })).toEqual(alone)
  const member = [bearer(await sign(key, { team: 'a' }))]
  expect((await check({ headers: member })).status).toBe(200)
  expect((await check({ headers: member })).status).toBe(200)
  await eventually(() => expect(observed.audited).toHaveLength(3))
  expect(observed.audited.map(({ decision }) => decision)).toEqual(['deny', 'allow', 'allow'])
  expect(lines.map((line) => (line as { mode?: string }).mode)).toEqual([
    undefined,
    undefined,
    'audit',
  ])
})

test('an audited provider lets nobody in whom those in force refuse, and its claims are not metadata', async () => {
  const both = entry({
    jwt: tokens,
    audit: { jwt: jwt(available(newer.jwk)), policy },
  })
  const { check, observed } = auditing(both)
  expect((await check({ headers: [bearer(await sign(newer))] })).status).toBe(401)
  expect(observed.audited).toEqual([])
  const optional = auditing({ ...both, jwt: { ...tokens, mode: 'Permissive' } })
  const { status, metadata } = await optional.check({ headers: [bearer(await sign(newer))] })
  expect([status, metadata]).toEqual([200, undefined])
  await eventually(() => expect(optional.observed.audited[0]?.reason).toBe('allowed'))
})

test('an audit that fails, and counters and logs that fail, change no answer', async () => {
  const full = (): never => {
    throw new Error('full')
  }
  for (const of of [
    open({ jwt: tokens }),
    entry({ jwt: tokens, audit: { jwt: tokens, authorization: rules('false'), policy } }),
  ])
    for (const options of [
      { metrics: { observe: () => undefined, audited: full } },
      {
        decisions: { claims: [], refused: full, allowed: () => undefined, flush: () => undefined },
      },
      { logger: { debug: full, info: full, warn: full, error: full } },
    ]) {
      const { check } = auditing(of, options)
      expect((await check({ headers: [bearer(await sign(key))] })).status).toBe(200)
    }
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
})

test('rules that cost much take turns, and the claims are metadata all the same', async () => {
  const costly = 'jwt.groups.all(a, jwt.groups.all(b, a + b + request.method != ""))'
  const { check, observed } = auditing(open({ jwt: tokens, authorization: rules(costly) }))
  const groups = [...Array(400).keys()].map((index) => `group-${String(index)}`)
  const large = bearer(await sign(key, { groups }))
  const small = bearer(await sign(key, { groups: ['one'] }))
  const before = await check({ headers: [small] })
  await check({ headers: [large] })
  expect(await check({ headers: [small] })).toEqual(before)
  expect(before.metadata).toHaveProperty('jwt')
  await eventually(() => expect(observed.audited).toHaveLength(3))
})
