// The check of the headers before Envoy holds the body: it refuses what needs no body, and changes and counts nothing else.

import { beforeAll, describe, expect, test } from 'vitest'
import {
  available,
  bearer,
  checker,
  entry,
  jwt,
  sign,
  type SigningKey,
  signingKey,
  type TestRequest,
} from './helpers.js'

let key: SigningKey
beforeAll(async () => {
  key = await signingKey()
})

const own = () =>
  checker([
    entry({
      jwt: jwt(available(key.jwk)),
      allowedOrigins: ['https://app.example'],
      authorization: { deny: [], require: [], allow: ['mcp.method == "ping"'], policies: [] },
      audit: { jwt: jwt(available(key.jwk)) },
    }),
  ])

const head = (more: Partial<TestRequest>): TestRequest => ({
  isHead: true,
  method: 'POST',
  ...more,
})

test('a valid token passes, though no body has come; nothing is removed, set, counted or logged', async () => {
  const { check, observed } = own()
  const answer = await check(head({ headers: [bearer(await sign(key)), ['content-length', '9']] }))
  expect(answer).toMatchObject({ status: 200, removed: [], set: [], metadata: undefined })
  expect([observed.decisions, observed.audited, observed.lines]).toEqual([[], [], []])
})

describe('is refused as it would be later', () => {
  test.each<[string, Partial<TestRequest>]>([
    ['no-token', {}],
    ['malformed-token', { headers: [bearer('x')] }],
    ['origin-not-allowed', { headers: [['origin', 'https://evil.example']] }],
    ['path-mismatch', { path: '/other' }],
    ['unknown-route', { key: 'nope' }],
  ])('%s', async (reason, more) => {
    const { check, observed } = own()
    const answer = await check(head(more))
    expect(answer).toEqual(await check({ method: 'POST', ...more }))
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(observed.decisions.map((decision) => decision.reason)).toEqual([reason, reason])
  })
})

test('the rules decide later', async () => {
  const { check } = own()
  const request = { method: 'GET', headers: [bearer(await sign(key))] }
  expect((await check({ ...request, isHead: true })).status).toBe(200)
  expect((await check(request)).status).toBe(403)
})
