// Which keys of a provider's key set can verify a token, and what the status reports about the others.

import { generateKeyPairSync, KeyObject, X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { importJWK } from 'jose'
import { describe, expect, test } from 'vitest'
import {
  describeKeySet as keySetWork,
  type KeySetDescription,
} from '../../../src/extauthz/oauth/key-set.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { JsonObject } from '../../../src/model/json.js'
import { selfSigned, selfSignedRsa } from '../../support/certificates.js'
import { runs } from '../../support/runs.js'

const describeKeySet = (jwks: JsonObject): KeySetDescription => atOnce(keySetWork(jwks))

const publicJwk = (make: () => { publicKey: KeyObject }): JsonObject =>
  make().publicKey.export({ format: 'jwk' }) as JsonObject

const rsa = publicJwk(() => generateKeyPairSync('rsa', { modulusLength: 2048 }))
const small = publicJwk(() => generateKeyPairSync('rsa', { modulusLength: 1024 }))
const p256 = publicJwk(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }))
const p384 = publicJwk(() => generateKeyPairSync('ec', { namedCurve: 'P-384' }))
const p521 = publicJwk(() => generateKeyPairSync('ec', { namedCurve: 'P-521' }))
const secp256k1 = publicJwk(() => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }))
const ed25519 = publicJwk(() => generateKeyPairSync('ed25519'))
const ed448 = publicJwk(() => generateKeyPairSync('ed448'))
const x25519 = publicJwk(() => generateKeyPairSync('x25519'))

/** A modulus of Project Wycheproof's (CVE-2017-15361). */
const ROCA =
  'AanFpofbj7KjD4Lf-N2hVMKR7yewSyXhhbirIMTGpfYEhZ_lnt5UoK98DnKIgArXGTu3MaW_HhFw16HGaTDUHqPrId7fe4r11CqRw09yBFuW79V8sYIwHdzCaWflUI6auImYbVfoN9_nD5n8N8SY9DwXw7mwZM9wREPXoDPgOoIWl6q_MPsp7n0zs3Z5ZaiQWOOzl1S9OhwAfSiiOwz6efnXEaxuTEtPd7BjSx7NaFka8Dx9U7YqXy2RFj1O9PjyaDGuRh7YXsX3iMUSP_wSyHQg_c_qHRtKUsNSGCT7OZg0hzm2KphtjnayKJvC64vAbROBR4Ubg6Bxg9IQVZ-QYyE'

describe('usable', () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ['RSA', rsa, ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']],
    ['RSA for one algorithm', { ...rsa, alg: 'PS384' }, ['PS384']],
    ['P-256', p256, ['ES256']],
    ['P-384', p384, ['ES384']],
    ['P-521', { ...p521, alg: 'ES512', use: 'sig' }, ['ES512']],
    ['Ed25519', ed25519, ['EdDSA', 'Ed25519']],
    ['Ed25519 by its older name', { ...ed25519, alg: 'EdDSA' }, ['EdDSA', 'Ed25519']],
    [
      'with operations',
      { ...rsa, key_ops: ['verify'] },
      ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
    ],
  ])('%s', (_name, key, algorithms) => {
    const { usable, skipped } = describeKeySet({ keys: [{ ...key, kid: 'k' }] })
    expect(skipped).toEqual([])
    expect(usable).toMatchObject([{ kid: 'k', algorithms, thumbprints: [] }])
  })

  /** Members that a key set may have and that RSA keys need not have. */
  const OPTIONAL = [
    'kid',
    'use',
    'key_ops',
    'alg',
    'x5c',
    'x5t',
    'x5t#S256',
    'x5u',
    'crv',
    'x',
    'y',
    'd',
    'p',
    'q',
    'dp',
    'dq',
    'qi',
    'oth',
    'k',
    'priv',
    'ext',
    'nbf',
  ]

  test.each([[null], [''], [[]]])('with %j in place of what a key does not have', (absent) => {
    for (const name of OPTIONAL)
      expect(describeKeySet({ keys: [{ ...rsa, [name]: absent }] }), name).toEqual({
        usable: describeKeySet({ keys: [rsa] }).usable,
        skipped: [],
      })
  })

  test('an entry that occurs twice is one key, two keys of one kid are two', () => {
    const other = { ...p256, kid: 'k' }
    const keys = [{ ...rsa, kid: 'k' }, other, { ...rsa, kid: 'k', ext: true }, { ...rsa }]
    expect(describeKeySet({ keys }).usable.map(({ kid }) => kid)).toEqual(['k', 'k', undefined])
  })
})

describe('as jose imports it', () => {
  const KEYS: readonly JsonObject[] = [rsa, p256, p384, p521, ed25519]
  const NUMBERS = ['n', 'e', 'x', 'y']

  /** Fails unless jose imports the key for each of its algorithms, as the same key. */
  async function expectSame(entry: JsonObject): Promise<void> {
    for (const { key, algorithms } of describeKeySet({ keys: [entry] }).usable)
      for (const algorithm of algorithms) {
        const imported = await importJWK(entry, algorithm)
        if (imported instanceof Uint8Array) throw new Error('jose imported a secret')
        expect(KeyObject.from(imported).equals(key), algorithm).toBe(true)
      }
  }

  test.each(KEYS)('$kty $crv', async (key) => {
    expect(describeKeySet({ keys: [key] }).usable).toHaveLength(1)
    await expectSame(key)
  })

  test('or not at all, whatever its numbers are', async () => {
    const changed = fc.record({
      key: fc.constantFrom(...KEYS),
      name: fc.constantFrom(...NUMBERS),
      at: fc.nat(1_400),
      by: fc.constantFrom('', 'A', '_', '=', '+', ' ', 'AA'),
    })
    await fc.assert(
      fc.asyncProperty(changed, async ({ key, name, at, by }) => {
        const number = key[name]
        if (typeof number !== 'string') return
        const place = at % (number.length + 1)
        await expectSame({ ...key, [name]: number.slice(0, place) + by + number.slice(place + 1) })
      }),
      { numRuns: runs(1_000) },
    )
  })
})

describe('a key of a certificate alone', () => {
  const certificates = { RSA: selfSignedRsa('idp.example'), EC: selfSigned('idp.example') }
  const base64 = (pem: string): string => new X509Certificate(pem).raw.toString('base64')
  const thumbprint = (hex: string): string =>
    Buffer.from(hex.replaceAll(':', ''), 'hex').toString('base64url')

  test.each(['RSA', 'EC'] as const)('%s: is its own, named by its thumbprints', (kty) => {
    const certificate = new X509Certificate(certificates[kty].cert)
    const types: readonly JsonObject[] = [
      { kty },
      {},
      { kty: null },
      ...(kty === 'EC' ? [{ kty, crv: 'P-256' }] : []),
    ]
    for (const type of types) {
      const { usable, skipped } = describeKeySet({
        keys: [{ ...type, use: 'sig', x5c: [base64(certificates[kty].cert)], n: '', x: null }],
      })
      expect(skipped).toEqual([])
      expect(usable[0]?.key.equals(certificate.publicKey)).toBe(true)
      expect(usable[0]?.thumbprints).toEqual(
        [certificate.fingerprint, certificate.fingerprint256].map(thumbprint),
      )
    }
  })

  test('counts for its thumbprints where the entry has a key, too', () => {
    const x5c = [base64(certificates.RSA.cert)]
    const { usable } = describeKeySet({ keys: [{ ...p256, x5c, 'x5t#S256': 'stated' }] })
    expect(usable[0]?.key.equals(new X509Certificate(certificates.RSA.cert).publicKey)).toBe(false)
    expect(usable[0]?.thumbprints).toEqual([
      thumbprint(new X509Certificate(certificates.RSA.cert).fingerprint),
      'stated',
    ])
  })

  test.each<[string, JsonObject, string]>([
    ['another type', { kty: 'EC', x5c: [base64(certificates.RSA.cert)] }, '"kty"'],
    ['another curve', { crv: 'P-384', x5c: [base64(certificates.EC.cert)] }, '"crv"'],
    ['an algorithm of another', { alg: 'ES256', x5c: [base64(certificates.RSA.cert)] }, '"alg"'],
    ['garbage', { kty: 'RSA', x5c: ['AAAA'] }, '"x5c"'],
    ['a PEM', { kty: 'RSA', x5c: [certificates.RSA.cert] }, '"x5c"'],
    ['a number', { kty: 'RSA', x5c: [7] }, '"x5c"'],
    ['a string', { kty: 'RSA', x5c: base64(certificates.RSA.cert) }, '"x5c"'],
    ['a null before it', { kty: 'RSA', x5c: [null, base64(certificates.RSA.cert)] }, '"x5c"'],
  ])('is skipped with %s', (_name, key, reason) => {
    const { usable, skipped } = describeKeySet({ keys: [rsa, key] })
    expect(usable).toHaveLength(1)
    expect(skipped).toMatchObject([{ index: 1, reason: expect.stringContaining(reason) as string }])
  })
})

describe('skipped', () => {
  test.each<[string, unknown, string]>([
    ['a secret', { kty: 'oct', k: 'AAAA' }, 'secret'],
    ['a secret without its value', { kty: 'oct' }, '"kty"'],
    ['a private key', { ...rsa, d: 'AAAA' }, 'private'],
    ['for encryption', { ...rsa, use: 'enc' }, '"use"'],
    ['for other operations', { ...rsa, key_ops: ['encrypt'] }, '"key_ops"'],
    ['operations that are no list', { ...rsa, key_ops: 'verify' }, '"key_ops"'],
    ['for HS256', { ...rsa, alg: 'HS256' }, '"alg"'],
    ['for none', { ...rsa, alg: 'none' }, '"alg"'],
    ['for an algorithm of another type', { ...p256, alg: 'RS256' }, '"alg"'],
    ['for an algorithm of another curve', { ...p256, alg: 'ES384' }, '"alg"'],
    ['an algorithm that is no string', { ...rsa, alg: 7 }, '"alg"'],
    ['1024 bits', small, '1024 bits'],
    ['a modulus of ROCA', { ...rsa, n: ROCA }, 'CVE-2017-15361'],
    ['exponent 1', { ...rsa, e: 'AQ' }, 'exponent'],
    ['an even exponent', { ...rsa, e: 'AQAA' }, 'exponent'],
    ['an endless exponent', { ...rsa, e: rsa['n'] }, 'exponent'],
    ['an endless modulus', { ...rsa, n: 'A'.repeat(1) + '_'.repeat(1400) }, 'at most'],
    ['no modulus', { kty: 'RSA', e: 'AQAB' }, '"n"'],
    ['another curve', secp256k1, '"crv"'],
    ['a coordinate that is too short', { ...p256, x: 'AAAA' }, '32 bytes'],
    ['a coordinate with padding', { ...p256, x: `${p256['x'] as string}=` }, '32 bytes'],
    ['a point that is not on its curve', { ...p521, x: p521['y'] }, 'public key'],
    ['Ed448', ed448, '"crv"'],
    ['X25519', x25519, '"crv"'],
    ['a kid that is no string', { ...rsa, kid: 7 }, '"kid"'],
    ['no type', {}, '"kty"'],
    ['no object', 'key', 'object'],
    ['null', null, 'object'],
  ])('%s', (_name, key, reason) => {
    const { usable, skipped } = describeKeySet({ keys: [key as JsonObject, rsa] })
    expect(usable).toHaveLength(1)
    expect(skipped).toHaveLength(1)
    expect(skipped[0]?.reason).toContain(reason)
  })

  test('names the key by its kid and its place', () => {
    expect(describeKeySet({ keys: [rsa, { ...small, kid: 'old' }] }).skipped).toMatchObject([
      { kid: 'old', index: 1 },
    ])
  })

  test.each([[{}], [{ keys: {} }], [{ keys: 'x' }], [{ keys: null }]])('all of %j', (document) => {
    const { usable, skipped } = describeKeySet(document)
    expect(usable).toEqual([])
    expect(skipped).toHaveLength(1)
  })

  test('none of an empty list: it revokes all keys', () => {
    expect(describeKeySet({ keys: [] })).toEqual({ usable: [], skipped: [] })
  })

  test('what comes after 256 keys', () => {
    const { usable, skipped } = describeKeySet({
      keys: Array.from({ length: 300 }, (_, at) => ({ ...ed25519, kid: `k${at}` })),
    })
    expect([usable.length, skipped.length]).toEqual([256, 44])
  })
})

describe('a key of small order, under which one signature fits any message', () => {
  const P = 2n ** 255n - 19n
  /** Little-endian, with the sign of x. */
  const encoded = (y: bigint, sign: bigint): string =>
    Buffer.from((y + sign * 2n ** 255n).toString(16).padStart(64, '0'), 'hex')
      .reverse()
      .toString('base64url')
  const d = (-121665n * inverse(121666n)) % P
  const order8 = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n

  function inverse(value: bigint): bigint {
    let [power, base, exponent] = [1n, value, P - 2n]
    for (; exponent > 0n; exponent >>= 1n) {
      if (exponent & 1n) power = (power * base) % P
      base = (base * base) % P
    }
    return power
  }

  test('is skipped, of Ed25519', () => {
    expect((d * order8 ** 4n + 2n * order8 ** 2n - 1n) % P).toBe(0n)
    for (const y of [0n, 1n, P - 1n, order8, P - order8])
      for (const sign of [0n, 1n]) {
        const key = { kty: 'OKP', crv: 'Ed25519', x: encoded(y, sign), kid: 'weak' }
        expect(describeKeySet({ keys: [key] })).toMatchObject({
          usable: [],
          skipped: [{ kid: 'weak', reason: expect.stringContaining('small order') as string }],
        })
      }
  })

  test('is skipped in its other encodings too', () => {
    for (const y of [P, P + 1n, 2n ** 255n - 1n])
      expect(
        describeKeySet({ keys: [{ kty: 'OKP', crv: 'Ed25519', x: encoded(y, 0n) }] }),
      ).toMatchObject({
        usable: [],
        skipped: [{ reason: expect.stringContaining('one encoding') as string }],
      })
  })

  test('is skipped, of Ed448, as all keys of that curve are', () => {
    const x = Buffer.from([1, ...Array<number>(56).fill(0)]).toString('base64url')
    expect(describeKeySet({ keys: [{ kty: 'OKP', crv: 'Ed448', x }] }).usable).toEqual([])
  })

  test('is no other', () => {
    for (let i = 0; i < 20; i++) {
      const key = publicJwk(() => generateKeyPairSync('ed25519'))
      expect(describeKeySet({ keys: [key] }).usable).toHaveLength(1)
    }
  })
})
