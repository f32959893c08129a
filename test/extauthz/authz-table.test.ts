// What a new table takes over from the previous one: remembered tokens, exactly as long as nothing that made them valid
// has changed.

import { beforeAll, describe, expect, test, vi } from 'vitest'
import { type AuthzTable, buildAuthzTable } from '../../src/extauthz/authz-table.js'
import { TokenMemory } from '../../src/extauthz/token/token-memory.js'
import type { AuthzEntry } from '../../src/model/authz-entry.js'
import {
  available,
  bearer,
  checker,
  entry,
  jwt,
  KEY,
  NOW,
  provider,
  sign,
  type SigningKey,
  signingKey,
  UNAVAILABLE,
} from './helpers.js'

let key: SigningKey
let other: SigningKey
let token: string

beforeAll(async () => {
  key = await signingKey()
  other = await signingKey('RS256', 'k2')
  token = await sign(key)
})

const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T

const remembered = (table: AuthzTable): number =>
  table.get(KEY)?.jwt?.providers.reduce((sum, { memory }) => sum + memory.size, 0) ?? -1

async function warmed(first: AuthzEntry): Promise<AuthzTable> {
  const table = buildAuthzTable([first])
  const { check } = checker(() => table)
  await check({ headers: [bearer(token)] })
  expect(remembered(table)).toBe(0)
  await check({ headers: [bearer(token)] })
  expect(remembered(table)).toBe(1)
  return table
}

describe('a remembered token', () => {
  test('survives a table of the same objects, and of equal ones', async () => {
    const same = entry({ jwt: jwt(available(key.jwk)) })
    const table = await warmed(same)
    expect(remembered(buildAuthzTable([same], table))).toBe(1)
    expect(remembered(buildAuthzTable([copy(same)], table))).toBe(1)
    expect(remembered(buildAuthzTable([same]))).toBe(0)
  })

  test('survives what does not make it valid: rules, mode, another route', async () => {
    const table = await warmed(entry({ jwt: jwt(available(key.jwk)) }))
    const next = entry({
      jwt: jwt(available(key.jwk), { mode: 'Optional', forwardToken: true }),
      authorization: { deny: ['true'], require: [], allow: [] },
    })
    const built = buildAuthzTable([{ ...next, key: 'default/b/0' }, next], table)
    expect(remembered(built)).toBe(1)
    const answer = await checker(() => built).check({ headers: [bearer(token)] })
    expect(answer.status).toBe(403)
  })

  test.each<[string, (key: SigningKey, other: SigningKey) => ReturnType<typeof jwt>, number]>([
    ['another key', (_, b) => jwt(available(b.jwk)), 401],
    ['one more key', (a, b) => jwt(available(a.jwk, b.jwk)), 200],
    ['no keys at all', () => jwt(available()), 401],
    ['keys that became unavailable', () => jwt(UNAVAILABLE), 503],
    [
      'another audience',
      (a) =>
        jwt(available(a.jwk), { providers: [provider(available(a.jwk), { audiences: ['x'] })] }),
      401,
    ],
    [
      'another issuer',
      (a) =>
        jwt(available(a.jwk), {
          providers: [provider(available(a.jwk), { issuer: 'https://x.example' })],
        }),
      401,
    ],
  ])('is forgotten with %s', async (_name, next, status) => {
    const table = await warmed(entry({ jwt: jwt(available(key.jwk)) }))
    const built = buildAuthzTable([entry({ jwt: next(key, other) })], table)
    expect(remembered(built)).toBe(0)
    const { check } = checker(() => built)
    expect((await check({ headers: [bearer(token)] })).status).toBe(status)
  })

  test('is gone when it expires, leeway included', async () => {
    const table = await warmed(entry({ jwt: jwt(available(key.jwk)) }))
    let now = (NOW + 659) * 1000
    const { check } = checker(() => table, { now: () => now })
    expect((await check({ headers: [bearer(token)] })).status).toBe(200)
    now += 1000
    expect((await check({ headers: [bearer(token)] })).status).toBe(401)
    expect(remembered(table)).toBe(0)
  })

  test('is refused after it expired, though only its signature was remembered', async () => {
    const table = buildAuthzTable([entry({ jwt: jwt(available(key.jwk)) })])
    let now = NOW * 1000
    const { check } = checker(() => table, { now: () => now })
    expect((await check({ headers: [bearer(token)] })).status).toBe(200)
    now += 660_000
    expect((await check({ headers: [bearer(token)] })).status).toBe(401)
    expect(remembered(table)).toBe(0)
  })

  test('is verified once, not per request', async () => {
    const table = buildAuthzTable([entry({ jwt: jwt(available(key.jwk)) })])
    const verified = vi.spyOn(TokenMemory.prototype, 'noteVerified')
    const { check } = checker(() => table)
    for (let i = 0; i < 5; i++) await check({ headers: [bearer(token)] })
    expect(verified).toHaveBeenCalledTimes(1)
    verified.mockRestore()
  })

  test('gets in with or without its header, as each route says', async () => {
    const kept = entry({ jwt: jwt(available(key.jwk), { forwardToken: true }) })
    const removed = { ...entry({ jwt: jwt(available(key.jwk)) }), key: 'default/b/0' }
    const table = buildAuthzTable([kept, removed])
    const { check } = checker(() => table)
    for (let i = 0; i < 2; i++) {
      expect((await check({ headers: [bearer(token)] })).removed).not.toContain('authorization')
      const second = await check({ key: 'default/b/0', headers: [bearer(token)] })
      expect(second.removed).toContain('authorization')
    }
  })
})

test('a compiled entry of the same object is not compiled again', () => {
  const same = entry({ authorization: { deny: [], require: [], allow: ['true'] } })
  const table = buildAuthzTable([same])
  expect(buildAuthzTable([same], table).get(KEY)).toBe(table.get(KEY))
  expect(buildAuthzTable([copy(same)], table).get(KEY)).not.toBe(table.get(KEY))
})

test('an entry that is gone is gone', () => {
  const table = buildAuthzTable([entry({})])
  expect(buildAuthzTable([], table).get(KEY)).toBeUndefined()
})

test('a key whose point is not on its curve verifies nothing and breaks nothing', async () => {
  const bad = await signingKey('ES256', 'bad')
  const offCurve = { ...bad.jwk, y: bad.jwk.x }
  const { check } = checker([entry({ jwt: jwt(available(offCurve, key.jwk)) })])
  expect((await check({ headers: [bearer(await sign(bad))] })).status).toBe(401)
  expect((await check({ headers: [bearer(token)] })).status).toBe(200)
})
