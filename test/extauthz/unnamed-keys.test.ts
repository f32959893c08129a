// Tokens without a kid: the key of their certificate, else each key that fits, at most eight (decision 5).

import { beforeAll, describe, expect, test, vi } from 'vitest'
import { type AuthzTable, buildAuthzTable } from '../../src/extauthz/authz-table.js'
import {
  available,
  bearer,
  checker,
  entry,
  jwt,
  sign,
  type SigningKey,
  signingKey,
} from './helpers.js'

const X5T = { x5t: 'dGh1bWJwcmludC1vZi1tZQ', 'x5t#S256': 'c3Ryb25nZXItdGh1bWJwcmludA' }

let mine: SigningKey
let others: readonly SigningKey[]
let plain: string
/** A token of a key that no set has. */
let foreign: string

beforeAll(async () => {
  const keys = Array.from({ length: 10 }, (_, at) => signingKey('RS256', `other-${at}`))
  mine = await signingKey('RS256', 'mine')
  others = await Promise.all(keys)
  plain = await signed()
  foreign = await sign(await signingKey(), {}, { kid: undefined })
})

const signed = (header: object = {}): Promise<string> =>
  sign(mine, {}, { kid: undefined, ...header })

const table = (...keys: readonly object[]): AuthzTable =>
  buildAuthzTable([entry({ jwt: jwt(available(...keys)) })])

async function ask(token: string, ...keys: readonly object[]): Promise<string> {
  const { check, observed } = checker(() => table(...keys))
  await check({ headers: [bearer(token)] })
  return observed.decisions[0]?.reason ?? ''
}

const jwks = (count: number): readonly object[] => others.slice(0, count).map(({ jwk }) => jwk)

describe('a token that names no key', () => {
  test.each([0, 1, 7])('is tried with each that fits: the one after %i others', async (count) => {
    expect(await ask(plain, ...jwks(count), mine.jwk)).toBe('allowed')
    expect(await ask(foreign, ...jwks(count), mine.jwk)).toBe('bad-signature')
  })

  test('is tried with eight keys, and no more', async () => {
    expect(await ask(plain, ...jwks(8), mine.jwk)).toBe('bad-signature')
    const encryption = jwks(8).map((key) => ({ ...key, use: 'enc' }))
    const elliptic = (await signingKey('ES256', null)).jwk
    expect(await ask(plain, ...encryption, elliptic, mine.jwk)).toBe('allowed')
  })

  test('is never tried with one of two keys of one kid (5a)', async () => {
    const twin = { ...others[0]?.jwk, kid: 'mine' }
    expect(await ask(plain, mine.jwk, twin)).toBe('unknown-key')
    expect(await ask(plain, mine.jwk, { ...mine.jwk, use: undefined })).toBe('allowed')
  })

  test('is tried with a key that has no kid, or "", as is one whose kid is ""', async () => {
    for (const kid of [undefined, '', null]) {
      expect(await ask(plain, ...jwks(2), { ...mine.jwk, kid })).toBe('allowed')
      expect(await ask(await signed({ kid: '' }), ...jwks(2), { ...mine.jwk, kid })).toBe('allowed')
    }
  })

  test('finds no key of its algorithm', async () => {
    expect(await ask(plain, (await signingKey('ES256', 'e')).jwk)).toBe('unknown-key')
  })
})

describe.each(['x5t', 'x5t#S256'] as const)('a token that names its certificate by %s', (name) => {
  const header = { [name]: X5T[name] }

  test('is tried with the key of that certificate alone', async () => {
    const token = await signed(header)
    expect(await ask(token, ...jwks(9), { ...mine.jwk, ...X5T })).toBe('allowed')
    expect(await ask(token, mine.jwk, { ...others[0]?.jwk, ...X5T })).toBe('bad-signature')
    expect(await ask(token, { ...mine.jwk, ...X5T }, { ...others[0]?.jwk, ...X5T })).toBe(
      'unknown-key',
    )
  })

  test('is tried with each key that fits, if none has that certificate', async () => {
    expect(await ask(await signed(header), ...jwks(2), mine.jwk)).toBe('allowed')
    expect(await ask(await signed({ [name]: null }), ...jwks(2), mine.jwk)).toBe('allowed')
  })

  test('is tried with the key of its kid, if it has one', async () => {
    const token = await sign(mine, {}, header)
    expect(await ask(token, mine.jwk, { ...others[0]?.jwk, ...X5T })).toBe('allowed')
  })
})

describe('when the keys rotate', () => {
  const FETCHED = { isAnswered: true, isOlder: false }

  test('a token that names none gets in by the keys that its provider has now', async () => {
    let current = table(...jwks(2))
    const { check } = checker(() => current, {
      refetchKeySet: () => {
        current = table(...jwks(2), mine.jwk)
        return Promise.resolve(FETCHED)
      },
    })
    expect((await check({ headers: [bearer(plain)] })).status).toBe(200)
  })

  test('one that nobody signed costs one look, and others none of theirs', async () => {
    let current = table(...jwks(2))
    const refetchKeySet = vi.fn(() => Promise.resolve(FETCHED))
    const { check } = checker(() => current, { refetchKeySet })
    for (let times = 0; times < 5; times++)
      expect((await check({ headers: [bearer(foreign)] })).status).toBe(401)
    expect(refetchKeySet).toHaveBeenCalledTimes(1)
    refetchKeySet.mockImplementation(() => {
      current = table(...jwks(2), mine.jwk)
      return Promise.resolve(FETCHED)
    })
    expect((await check({ headers: [bearer(plain)] })).status).toBe(200)
  })

  test('a provider that cannot be asked makes it 503, not 401', async () => {
    const { check, observed } = checker(() => table(...jwks(2)), {
      refetchKeySet: () => Promise.reject(new Error('down')),
    })
    expect((await check({ headers: [bearer(plain)] })).status).toBe(503)
    expect(observed.decisions[0]?.reason).toBe('key-not-looked-up')
  })
})

test('keys that verify in a thread are tried in turn, too', async () => {
  const large = await Promise.all(
    ['a', 'b'].map((kid) => signingKey('RS256', kid, { modulusLength: 4608 })),
  )
  const keys = large.map(({ jwk }) => jwk)
  expect(await ask(await sign(large[1] ?? mine, {}, { kid: undefined }), ...keys)).toBe('allowed')
  expect(await ask(plain, ...keys)).toBe('bad-signature')
})
