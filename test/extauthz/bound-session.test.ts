// Sessions that are bound to their callers: whose request passes, what the server gets, and what all others are answered.

import { beforeAll, describe, expect, test } from 'vitest'
import { createSessionSeal } from '../../src/extauthz/oauth/session-seal.js'
import {
  available,
  bearer,
  checker,
  CLAIMS,
  entry,
  ISSUER,
  jwt,
  sign,
  type SigningKey,
  signingKey,
} from './helpers.js'

const SESSION = { policy: 'default/mcp', issuer: ISSUER, sealingKeys: ['A'.repeat(43)] }
const seal = createSessionSeal(SESSION)
const sealed = seal.seal('server-1', 'alice') ?? ''

let key: SigningKey
beforeAll(async () => {
  key = await signingKey()
})

const bound = (more: object = {}) =>
  checker([entry({ jwt: jwt(available(key.jwk)), session: SESSION, ...more })])

const headersOf = async (
  claims: object,
  ...sessions: readonly string[]
): Promise<readonly (readonly [string, string])[]> => [
  bearer(await sign(key, claims)),
  ...sessions.map((session) => ['mcp-session-id', session] as const),
]

test('the server gets its own id, and ext_proc what the client sent', async () => {
  const { check } = bound()
  const answer = await check({ headers: await headersOf({}, sealed) })
  expect(answer.status).toBe(200)
  expect(answer.set).toEqual([['mcp-session-id', 'server-1', 'replaces']])
  expect(answer.metadata).toEqual({ jwt: CLAIMS, mcp_session: sealed })
})

test('a request without a session passes as it is, before and after one with', async () => {
  const { check } = bound()
  const without = await check({ headers: await headersOf({}) })
  await check({ headers: await headersOf({}, sealed) })
  expect(await check({ headers: await headersOf({}) })).toEqual(without)
  expect([without.status, without.set, without.metadata]).toEqual([200, [], { jwt: CLAIMS }])
})

test.each(['GET', 'DELETE', 'POST'])('each method is checked: %s', async (method) => {
  const { check } = bound()
  const own = await headersOf({}, sealed)
  const other = await headersOf({ sub: 'mallory' }, sealed)
  expect((await check({ method, headers: own })).status).toBe(200)
  expect((await check({ method, headers: other })).status).toBe(404)
})

describe('404, upon which a client begins a new session', () => {
  test.each<[string, object, readonly string[]]>([
    ["another caller's", { sub: 'mallory' }, [sealed]],
    ["the server's own id", {}, ['server-1']],
    ['an empty one', {}, ['']],
    ['two', {}, [sealed, sealed]],
    ['one of another policy', {}, [other({ policy: 'default/other' })]],
    ['one of another key', {}, [other({ sealingKeys: ['B'.repeat(43)] })]],
  ])('%s', async (_name, claims, sessions) => {
    const { check, observed } = bound()
    const headers = await headersOf(claims, ...sessions)
    const answer = await check({ headers })
    expect([answer.status, JSON.parse(answer.body)]).toEqual([
      404,
      { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } },
    ])
    expect(answer.headers).toEqual({ 'content-type': 'application/json' })
    expect(await check({ headers, isHead: true })).toEqual(answer)
    expect(observed.decisions.map(({ reason }) => reason)).toEqual([
      'unknown-session',
      'unknown-session',
    ])
  })
})

test.each([{ sub: undefined }, { sub: '' }])('a token with %j is 403', async (claims) => {
  const { check, observed } = bound()
  for (const sessions of [[], [sealed]]) {
    const answer = await check({ headers: await headersOf(claims, ...sessions) })
    expect([answer.status, answer.body]).toEqual([403, expect.stringContaining('no subject')])
  }
  expect(observed.decisions.map(({ reason }) => reason)).toEqual(['no-subject', 'no-subject'])
})

test('without a token the answer is the challenge, whatever the session', async () => {
  const { check } = bound()
  expect((await check({ headers: [['mcp-session-id', sealed]] })).status).toBe(401)
})

test('an entry that binds sessions without requiring a token lets nobody in', async () => {
  const { check } = checker([entry({ session: SESSION })])
  expect((await check({})).status).toBe(403)
})

test('the rules decide about a session that is open', async () => {
  const { check } = bound({
    authorization: { deny: ['request.method == "DELETE"'], require: [], allow: [], policies: [] },
  })
  const headers = await headersOf({}, sealed)
  expect((await check({ method: 'DELETE', headers })).status).toBe(403)
  expect((await check({ headers })).set).toEqual([['mcp-session-id', 'server-1', 'replaces']])
})

function other(change: object): string {
  return createSessionSeal({ ...SESSION, ...change }).seal('server-1', 'alice') ?? ''
}
