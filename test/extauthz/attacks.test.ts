// Tokens and paths that an attacker would try. Each is denied; where a harmless variant exists, it is allowed.

import { createHmac, KeyObject, sign as signBytes } from 'node:crypto'
import { type CryptoKey, exportSPKI, importJWK } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  available,
  base64url,
  bearer,
  checker,
  CLAIMS,
  entry,
  jwt,
  NOW,
  sign,
  type SigningKey,
  signingKey,
  type TestAnswer,
} from './helpers.js'

let key: SigningKey
let elliptic: SigningKey
let good: string

beforeAll(async () => {
  key = await signingKey()
  elliptic = await signingKey('ES256', 'e1')
  good = await sign(key)
})

const ask = (token: string, ...keys: object[]): Promise<TestAnswer> =>
  checker([entry({ jwt: jwt(available(...(keys.length === 0 ? [key.jwk] : keys))) })]).check({
    headers: [bearer(token)],
  })

const status = async (token: string, ...keys: object[]): Promise<number> =>
  (await ask(token, ...keys)).status

/** Signs any header and payload text with the real key, as a careless provider might. */
function signRaw(header: object, payload: string): string {
  const input = `${base64url(header)}.${base64url(payload)}`
  return `${input}.${signBytes('sha256', Buffer.from(input), KeyObject.from(key.privateKey)).toString('base64url')}`
}

test('the untouched token gets in', async () => {
  expect(await status(good)).toBe(200)
})

describe('algorithms', () => {
  test.each(['none', 'None', 'NONE', 'nOnE', '', 'HS256', 'RS1', 'rs256', 'ES256K', 'toString'])(
    'alg %j with no signature',
    async (alg) => {
      const input = `${base64url({ alg, kid: 'k1' })}.${base64url(CLAIMS)}`
      expect(await status(`${input}.`)).toBe(401)
      expect(await status(`${input}.AAAA`)).toBe(401)
      expect(await status(input)).toBe(401)
    },
  )

  test('HS256 with the public key as the secret', async () => {
    const input = `${base64url({ alg: 'HS256', kid: 'k1' })}.${base64url(CLAIMS)}`
    const pem = await exportSPKI((await importJWK(key.jwk, 'RS256')) as CryptoKey)
    for (const secret of [pem, pem.trim(), JSON.stringify(key.jwk), key.jwk.n ?? '']) {
      const mac = createHmac('sha256', secret).update(input).digest('base64url')
      expect(await status(`${input}.${mac}`)).toBe(401)
    }
  })

  test('HS256 with a secret from the key set', async () => {
    const secret = base64url('a secret of thirty-two characters')
    const input = `${base64url({ alg: 'HS256', kid: 'h1' })}.${base64url(CLAIMS)}`
    const mac = createHmac('sha256', Buffer.from(secret, 'base64url')).update(input)
    const oct = { kty: 'oct', kid: 'h1', alg: 'HS256', k: secret }
    expect(await status(`${input}.${mac.digest('base64url')}`, oct, key.jwk)).toBe(401)
  })

  test('PS256 by a key that is for RS256', async () => {
    const unbound = { ...key.jwk, alg: undefined }
    const probe = await signingKey('PS256', 'k1')
    const token = await sign(probe)
    expect(await status(token, probe.jwk)).toBe(200)
    expect(await status(token, { ...probe.jwk, alg: 'RS256' })).toBe(401)
    expect(await status(good, unbound)).toBe(200)
  })

  test('ES384 claimed by a P-256 key', async () => {
    const [header = '', payload = '', signature = ''] = (await sign(elliptic)).split('.')
    expect(await status(`${header}.${payload}.${signature}`, elliptic.jwk)).toBe(200)
    const unbound = { ...elliptic.jwk, alg: undefined }
    const claimed = base64url({ alg: 'ES384', kid: 'e1' })
    expect(await status(`${claimed}.${payload}.${signature}`, unbound)).toBe(401)
  })

  test('a signature of zeros (CVE-2022-21449)', async () => {
    const [header = '', payload = ''] = (await sign(elliptic)).split('.')
    const zeros = Buffer.alloc(64).toString('base64url')
    const der = Buffer.from('3006020100020100', 'hex').toString('base64url')
    expect(await status(`${header}.${payload}.${zeros}`, elliptic.jwk)).toBe(401)
    expect(await status(`${header}.${payload}.${der}`, elliptic.jwk)).toBe(401)
  })
})

describe('keys that the token brings along', () => {
  test.each(['jwk', 'jku', 'x5u', 'x5c'])('%s in the header', async (name) => {
    const mine = await signingKey('RS256', 'k1')
    const brought = {
      jwk: mine.jwk,
      jku: 'https://evil.example/jwks',
      x5u: 'https://evil.example/c',
      x5c: ['AAAA'],
    }
    const token = await sign(mine, {}, { [name]: brought[name as keyof typeof brought] })
    expect(await status(token)).toBe(401)
    const stranger = await sign(
      { ...mine, jwk: { ...mine.jwk, kid: 'evil' } },
      {},
      { [name]: brought[name as keyof typeof brought] },
    )
    expect(await status(stranger)).toBe(401)
  })

  test.each([
    ['../../../../dev/null'],
    ["k1' OR '1'='1"],
    ['k1\u0000'],
    ['__proto__'],
    ['constructor'],
    ['k'.repeat(10_000)],
    [''],
  ])('kid %j', async (kid) => {
    expect(await status(await sign(key, {}, { kid }))).toBe(401)
  })

  test.each([[{ kid: 'k1' }], [['k1']], [1], [null], [true]])('kid %j', (kid) => {
    return expect(status(signRaw({ alg: 'RS256', kid }, JSON.stringify(CLAIMS)))).resolves.toBe(401)
  })

  test('two keys with one kid that both fit are not tried in turn', async () => {
    const second = await signingKey('RS256', 'k1')
    expect(await status(good, key.jwk, second.jwk)).toBe(401)
    expect(await status(good, key.jwk, { ...elliptic.jwk, kid: 'k1' })).toBe(200)
  })
})

describe('headers that change what is signed', () => {
  test.each([
    { crit: ['exp'] },
    { crit: ['b64'], b64: true },
    { crit: [] },
    { crit: 'exp' },
    { b64: false },
    { b64: true },
    { crit: ['http://example.invalid/UNDEFINED'], 'http://example.invalid/UNDEFINED': true },
  ])('%j', (header) => {
    return expect(
      status(signRaw({ alg: 'RS256', kid: 'k1', ...header }, JSON.stringify(CLAIMS))),
    ).resolves.toBe(401)
  })
})

describe('spelling', () => {
  test('every part must be there, and exactly as it was signed', async () => {
    const [header = '', payload = '', signature = ''] = good.split('.')
    const bent = [
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `.${payload}.${signature}`,
      `${header}..${signature}`,
      `${good}.`,
      `${good}.${signature}`,
      `${header}.${payload}.${signature}=`,
      `${header}.${payload}.${signature}==`,
      `${header}=.${payload}.${signature}`,
      `${header}.${payload}=.${signature}`,
      `${header}.${payload}.${signature.slice(0, -1)}`,
      `${header}.${payload}.${signature}A`,
      `${header}.${payload}.${signature.replace(/.$/, otherLastCharacter)}`,
      `${header}.${base64url({ ...CLAIMS, sub: 'root' })}.${signature}`,
      `${base64url({ alg: 'RS256', kid: 'k1', x: 1 })}.${payload}.${signature}`,
      `${header}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}+`,
    ]
    for (const token of bent) expect([token, await status(token)]).toEqual([token, 401])
  })

  /** Decodes to the same bytes: 2048-bit signatures leave spare bits in their last character. */
  const otherLastCharacter = (last: string): string => String.fromCharCode(last.charCodeAt(0) + 1)

  test('a bent copy of a remembered token is still refused', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const bent = good.replace(/.$/, otherLastCharacter)
    for (let use = 1; use <= 3; use++) {
      expect((await check({ headers: [bearer(good)] })).status).toBe(200)
      expect((await check({ headers: [bearer(bent)] })).status).toBe(401)
      expect((await check({ headers: [bearer(good.slice(0, -1))] })).status).toBe(401)
    }
  })

  test('a remembered token lets in only by a header that would have let it in before', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const answer = async (...values: string[]): Promise<number> =>
      (await check({ headers: values.map((value) => ['authorization', value] as const) })).status
    for (let use = 1; use <= 2; use++) expect(await answer(`Bearer ${good}`)).toBe(200)
    for (const value of [`bearer ${good}`, `BEARER  ${good}`]) expect(await answer(value)).toBe(200)
    for (const value of [
      good,
      ` Bearer ${good}`,
      `Bearer ${good} `,
      `Bearer\t${good}`,
      `Bearer ${good},${good}`,
      `Basic ${good}`,
      `Bearer ${good}\0`,
      `Bearer "${good}"`,
      `Bearer Bearer ${good}`,
    ])
      expect([value, await answer(value)]).toEqual([value, 401])
    expect(await answer(`Bearer ${good}`, `Bearer ${good}`)).toBe(401)
    expect(await answer(`Bearer ${good}`, '')).toBe(401)
    expect(await answer(`Bearer ${' '.repeat(20_000)}${good}`)).toBe(401)
  })

  test('payloads that are no claims', async () => {
    const header = { alg: 'RS256', kid: 'k1' }
    const payloads = [
      '',
      'null',
      '"text"',
      '[]',
      '[{"iss":1}]',
      '{',
      `${JSON.stringify(CLAIMS)}x`,
      `\ufeff${JSON.stringify(CLAIMS)}`,
      '['.repeat(9000),
      '{"a":'.repeat(1500),
      `{"x":1e400,${JSON.stringify(CLAIMS).slice(1)}`,
      `{"a":${'['.repeat(4000)}${']'.repeat(4000)},${JSON.stringify(CLAIMS).slice(1)}`,
    ]
    for (const payload of payloads)
      expect([payload.slice(0, 20), await status(signRaw(header, payload))]).toEqual([
        payload.slice(0, 20),
        401,
      ])
  })

  test('of a claim that is there twice the last counts, for every check alike', async () => {
    const header = { alg: 'RS256', kid: 'k1' }
    const text = JSON.stringify(CLAIMS)
    const twice = (first: string, last: string): string =>
      text.replace('"exp"', `"exp":${first},"exp":${last},"_"`)
    expect(await status(signRaw(header, twice('1', String(NOW + 9))))).toBe(200)
    expect(await status(signRaw(header, twice(String(NOW + 9), '1')))).toBe(401)
  })

  test('claims with NUL, newlines, __proto__ and lone surrogates arrive as claims', async () => {
    const payload = `{"nul":"a\\u0000b","line":"a\\r\\nb","odd":"\\ud800","__proto__":{"admin":true},${JSON.stringify(CLAIMS).slice(1)}`
    const answer = await ask(signRaw({ alg: 'RS256', kid: 'k1' }, payload))
    expect(answer.status).toBe(200)
    const claims = answer.metadata?.['jwt'] as Record<string, unknown>
    expect(claims).toMatchObject({ nul: 'a\u0000b', line: 'a\r\nb', odd: '\ufffd', sub: 'alice' })
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  })
})
