// Forged tokens through Envoy: each is denied, and none causes a fetch.

import { createHmac, randomBytes } from 'node:crypto'
import {
  CompactSign,
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  SignJWT,
} from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import {
  ISSUER,
  jwt,
  protectedRoute,
  type ProtectedStack,
  sign,
  startProtectedStack,
} from '../support/protected-stack.js'
import { base64url, keySet, newKey, now, type SigningKey, signToken } from '../support/tokens.js'

const ours = await newKey('k1')
const ec = await newKey('ec', 'ES256')
const attacker = await newKey('k1')

let trap: DocumentServer
let stack: ProtectedStack

beforeAll(async () => {
  trap = await startDocumentServer()
  trap.serve('/jwks', keySet(attacker))
  stack = await startProtectedStack(
    protectedRoute('strict', { jwtAuthentication: jwt([ours, ec]) }),
  )
})
afterAll(async () => {
  await stack.close()
  await trap.close()
})

describe('forgeries', () => {
  const header = (more: object): object => ({ alg: 'RS256', kid: 'k1', typ: 'JWT', ...more })
  const payload = (more: object = {}): object => ({
    iss: ISSUER,
    sub: 'alice',
    exp: now() + 300,
    ...more,
  })
  const hmac = (input: string, secret: string | Buffer): string =>
    createHmac('sha256', secret).update(input).digest('base64url')
  const unsigned = (head: object, signature = ''): string =>
    `${base64url(head)}.${base64url(payload())}.${signature}`
  const withHmac = (secret: string | Buffer): string => {
    const input = `${base64url(header({ alg: 'HS256' }))}.${base64url(payload())}`
    return `${input}.${hmac(input, secret)}`
  }
  const signedBy = (key: SigningKey, more: object): Promise<string> =>
    signToken({ key, header: more, claims: { iss: ISSUER } })
  const spki = async (): Promise<string> =>
    exportSPKI((await importJWK({ ...ours.publicJwk, ext: true }, 'RS256')) as CryptoKey)
  const parts = async (): Promise<[string, string, string]> =>
    (await sign(ours)).split('.') as [string, string, string]

  test.each<[string, () => string | Promise<string>]>([
    ...['none', 'None', 'NONE', 'nOnE', ''].map((alg): [string, () => string] => [
      `alg "${alg}"`,
      () => unsigned(header({ alg })),
    ]),
    ['no alg', () => unsigned({ kid: 'k1' })],
    [
      'alg none with a signature',
      async () => unsigned(header({ alg: 'none' }), (await parts())[2]),
    ],
    ['an empty signature', () => unsigned(header({}))],
    ['a random signature', () => unsigned(header({}), randomBytes(256).toString('base64url'))],
    ['HS256 with the public key as PEM', async () => withHmac(await spki())],
    ['HS256 with the public key as JWK', () => withHmac(JSON.stringify(ours.publicJwk))],
    ['HS256 with an empty secret', () => withHmac('')],
    ['another key under the same kid', () => signedBy(attacker, {})],
    ['an embedded jwk', () => signedBy(attacker, { jwk: attacker.publicJwk })],
    [
      'an embedded jwk under an unknown kid',
      () => signedBy(attacker, { kid: 'new', jwk: attacker.publicJwk }),
    ],
    ['jku', () => signedBy(attacker, { kid: 'new', jku: `${trap.origin}/jwks` })],
    ['x5u', () => signedBy(attacker, { kid: 'new', x5u: `${trap.origin}/jwks` })],
    ['crit', () => critical()],
    ['b64 false', () => signedBy(ours, { b64: false })],
    ...[
      '../../dev/null',
      "k1' OR '1'='1",
      'k1\u0000',
      '__proto__',
      'constructor',
      'k'.repeat(5000),
    ].map((kid): [string, () => Promise<string>] => [
      `kid ${JSON.stringify(kid.slice(0, 20))}`,
      () => signedBy(attacker, { kid }),
    ]),
    [
      'kid a number',
      async () => `${base64url(header({ kid: 1 }))}.${(await parts()).slice(1).join('.')}`,
    ],
    ['the alg of another key', () => signedBy(ec, { kid: 'k1' })],
    [
      'changed claims',
      async () => {
        const [head, , signature] = await parts()
        return `${head}.${base64url(payload({ sub: 'root' }))}.${signature}`
      },
    ],
    [
      'a changed header',
      async () => `${base64url(header({ x: 1 }))}.${(await parts()).slice(1).join('.')}`,
    ],
    ['two parts', async () => (await parts()).slice(0, 2).join('.')],
    ['four parts', async () => `${await sign(ours)}.x`],
    ['five parts', async () => `${await sign(ours)}.x.y`],
    ['padding', async () => `${await sign(ours)}==`],
    ['claims that are a list', async () => signedPayload('[1]')],
    ['claims that are no JSON', async () => signedPayload('{')],
    [
      'the claim iss twice, of which the last counts',
      async () => signedPayload(`{"iss":"${ISSUER}","iss":"x","exp":${String(now() + 300)}}`),
    ],
  ])('%s', async (_what, forge) => {
    expect(await stack.statusOf('strict', await forge())).toBe(401)
    expect(trap.requests).toEqual([])
  })

  async function critical(): Promise<string> {
    return new SignJWT({ iss: ISSUER })
      .setProtectedHeader({ alg: 'RS256', kid: 'k1', crit: ['exp'], exp: now() + 300 })
      .setExpirationTime('5m')
      .sign(ours.privateKey, { crit: { exp: true } })
  }

  /** A good signature over any payload. */
  async function signedPayload(text: string): Promise<string> {
    return new CompactSign(Buffer.from(text))
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .sign(ours.privateKey)
  }

  test('a key that is too weak is not used', async () => {
    const { privateKey, publicKey } = await generateKeyPair('RS256', {
      extractable: true,
      modulusLength: 2048,
    })
    const weak = {
      ...(await exportJWK(publicKey)),
      n: base64url('short'),
      kid: 'weak',
      alg: 'RS256',
    }
    await stack.write(
      'weak.yaml',
      ...protectedRoute('weak', {
        jwtAuthentication: {
          providers: [{ issuer: ISSUER, jwks: { inline: JSON.stringify({ keys: [weak] }) } }],
        },
      }),
    )
    await eventually(async () => expect(await stack.statusOf('weak')).toBe(401))
    const token = await signToken({
      key: { kid: 'weak', alg: 'RS256', privateKey, publicJwk: weak },
      claims: { iss: ISSUER },
    })
    expect(await stack.statusOf('weak', token)).toBe(401)
  })
})
