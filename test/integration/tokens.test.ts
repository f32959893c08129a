// What a token is good for, and what an attacker's is not, through Envoy: modes, providers, audiences, rules, forgeries.

import { createHmac, randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  CompactSign,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  SignJWT,
  type CryptoKey,
} from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { startDocumentServer, type DocumentServer } from '../support/document-server.js'
import { eventually } from '../support/eventually.js'
import { bearer, send } from '../support/http.js'
import { allow, gateway, httpRoute, proxyBackend, proxyPolicy, rule } from '../support/resources.js'
import { startStack, type Stack } from '../support/stack.js'
import { base64url, keySet, newKey, now, signToken, type SigningKey } from '../support/tokens.js'

const ISSUER = 'https://idp.example'
const OTHER_ISSUER = 'https://other.example/'

const ours = await newKey('k1')
const theirs = await newKey('k1')
const ec = await newKey('ec', 'ES256')
const ed = await newKey('ed', 'EdDSA')
const attacker = await newKey('k1')

let backend: Backend
let trap: DocumentServer
let stack: Stack

const inline = (...keys: readonly SigningKey[]): object => ({
  inline: JSON.stringify(keySet(...keys)),
})
const provider = (more: object = {}): object => ({
  issuer: ISSUER,
  jwks: inline(ours, ec, ed),
  ...more,
})
const jwt = (more: object = {}): object => ({ providers: [provider()], ...more })

/** A route /NAME with these policies on it. */
const protectedRoute = (name: string, ...traffics: readonly object[]): readonly object[] => [
  httpRoute(name, { rules: [rule(`/${name}`, 'backend')] }),
  ...traffics.map((traffic, index) => proxyPolicy(`${name}-${String(index)}`, name, traffic)),
]

const rules = (action: string, ...matchExpressions: readonly string[]): object => ({
  authorization: { action, policy: { matchExpressions } },
})

beforeAll(async () => {
  backend = await startBackend()
  trap = await startDocumentServer()
  trap.serve('/jwks', keySet(attacker))
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      ...protectedRoute('strict', { jwtAuthentication: jwt() }),
      ...protectedRoute('optional', { jwtAuthentication: jwt({ mode: 'Optional' }) }),
      ...protectedRoute('permissive', { jwtAuthentication: jwt({ mode: 'Permissive' }) }),
      ...protectedRoute('forwarded', { jwtAuthentication: jwt({ forwardToken: true }) }),
      ...protectedRoute('audience', {
        jwtAuthentication: { providers: [provider({ audiences: ['mcp', 'other'] })] },
      }),
      ...protectedRoute('two', {
        jwtAuthentication: {
          providers: [provider(), { issuer: OTHER_ISSUER, jwks: inline(theirs) }],
        },
      }),
      ...protectedRoute(
        'pooled',
        {
          jwtAuthentication: jwt(),
          authorization: allow('"users" in jwt.groups', 'jwt.sub == "root"'),
        },
        rules('Require', 'jwt.level >= 2', 'request.method == "GET"'),
        rules('Deny', 'jwt.sub == "mallory"', 'request.headers["x-banned"] == "yes"'),
      ),
      ...protectedRoute('denying', { jwtAuthentication: jwt(), ...rules('Deny', 'jwt.level > 5') }),
      ...protectedRoute('claimless', {
        jwtAuthentication: jwt({ mode: 'Permissive' }),
        authorization: allow('jwt.sub == "alice"'),
      }),
      ...protectedRoute('invalid', {
        jwtAuthentication: jwt(),
        authorization: allow('jwt.sub =='),
      }),
    ],
  })
  await eventually(async () => expect(await statusOf('strict', await sign())).toBe(200))
})

afterAll(async () => {
  await stack.close()
  await trap.close()
  await backend.close()
})

const sign = (claims: object = {}, key = ours): Promise<string> =>
  signToken({ key, claims: { iss: ISSUER, ...claims } })

async function statusOf(
  name: string,
  token?: string,
  more: Record<string, string> = {},
): Promise<number> {
  const headers = { ...(token !== undefined && bearer(token)), ...more }
  const seen = backend.requests.length
  const { status } = await send(stack.origin, `/${name}`, { headers })
  expect(backend.requests.length - seen, 'requests that reached the backend').toBe(
    status === 200 ? 1 : 0,
  )
  return status
}

describe('modes', () => {
  test.each([
    ['strict', 401, 200, 401],
    ['optional', 200, 200, 401],
    ['permissive', 200, 200, 200],
  ])('%s: no token %i, a good one %i, a bad one %i', async (name, none, good, bad) => {
    expect(await statusOf(name)).toBe(none)
    expect(await statusOf(name, await sign())).toBe(good)
    expect(await statusOf(name, await sign({}, attacker))).toBe(bad)
  })

  test('without claims a rule on them lets nobody in', async () => {
    expect(await statusOf('claimless')).toBe(403)
    expect(await statusOf('claimless', await sign())).toBe(200)
    expect(await statusOf('claimless', await sign({}, attacker))).toBe(403)
  })
})

describe('tokens', () => {
  test.each([
    ['RS256', ours],
    ['ES256', ec],
    ['EdDSA', ed],
  ])('signed with %s are good', async (_alg, key) => {
    expect(await statusOf('strict', await sign({}, key))).toBe(200)
  })

  test('go on to the backend only where the policy says so', async () => {
    const token = await sign()
    for (const [name, expected] of [
      ['strict', undefined],
      ['optional', undefined],
      ['permissive', undefined],
      ['forwarded', `Bearer ${token}`],
    ] as const) {
      expect(await statusOf(name, token)).toBe(200)
      expect(backend.requests.at(-1)?.headers.authorization).toBe(expected)
    }
  })

  test('of Permissive and Optional routes do not go on either when they are bad', async () => {
    expect(await statusOf('permissive', await sign({}, attacker))).toBe(200)
    expect(backend.requests.at(-1)?.headers.authorization).toBeUndefined()
  })

  test.each([
    ['expired', { exp: now() - 61 }, 401],
    ['expired within the leeway', { exp: now() - 30 }, 200],
    ['not valid yet', { nbf: now() + 200 }, 401],
    ['without an expiry', { exp: undefined }, 401],
    ['with an expiry that is a text', { exp: String(now() + 300) }, 401],
    ['of another issuer', { iss: `${ISSUER}/` }, 401],
    ['without an issuer', { iss: undefined }, 401],
  ])('%s', async (_what, claims, expected) => {
    expect(await statusOf('strict', await sign(claims))).toBe(expected)
  })

  test.each([
    ['mcp', 200],
    [['x', 'other'], 200],
    ['mcpx', 401],
    [[], 401],
    [{ mcp: true }, 401],
    [undefined, 401],
  ])('for audience %j', async (aud, expected) => {
    expect(await statusOf('audience', await sign({ aud }))).toBe(expected)
  })

  test('of two issuers with the same kid are told apart', async () => {
    const of = (iss: string, key: SigningKey): Promise<string> =>
      signToken({ key, claims: { iss } })
    expect(await statusOf('two', await of(ISSUER, ours))).toBe(200)
    expect(await statusOf('two', await of(OTHER_ISSUER, theirs))).toBe(200)
    expect(await statusOf('two', await of(ISSUER, theirs))).toBe(401)
    expect(await statusOf('two', await of(OTHER_ISSUER, ours))).toBe(401)
    expect(await statusOf('strict', await of(OTHER_ISSUER, theirs))).toBe(401)
  })
})

describe('rules of several policies on one route', () => {
  const user = { groups: ['users'], level: 2 }
  test.each([
    ['an Allow and every Require', user, {}, 200],
    ['the other Allow', { ...user, groups: [], sub: 'root' }, {}, 200],
    ['no Allow', { ...user, groups: [] }, {}, 403],
    ['a Require is false', { ...user, level: 1 }, {}, 403],
    ['a Require cannot be evaluated', { groups: ['users'] }, {}, 403],
    ['an Allow cannot be evaluated, the other is true', { level: 2, sub: 'root' }, {}, 200],
    ['a Deny', { ...user, sub: 'mallory' }, {}, 403],
    ['a Deny on a header', user, { 'x-banned': 'yes' }, 403],
    ['another value of that header', user, { 'x-banned': 'no' }, 200],
  ])('%s', async (_what, claims, headers, expected) => {
    const banned = { 'x-banned': 'no', ...headers }
    expect(await statusOf('pooled', await sign(claims), banned)).toBe(expected)
  })

  test('a Deny that cannot be evaluated refuses', async () => {
    const user = { groups: ['users'], level: 2 }
    expect(await statusOf('pooled', await sign(user))).toBe(403)
  })

  test('Deny alone lets everybody else in', async () => {
    expect(await statusOf('denying', await sign({ level: 5 }))).toBe(200)
    expect(await statusOf('denying', await sign({ level: 6 }))).toBe(403)
    expect(await statusOf('denying', await sign({ level: 'high' }))).toBe(403)
    expect(await statusOf('denying', await sign())).toBe(403)
  })

  test('a rule that is not CEL refuses with 500 until it is fixed', async () => {
    expect(await statusOf('invalid', await sign())).toBe(500)
    const policy = (await stack.status()).find(({ name }) => name === 'invalid-0')
    expect(policy?.conditions.find(({ type }) => type === 'Accepted')?.status).toBe('False')
    expect(await statusOf('strict', await sign())).toBe(200)
  })
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
    (await sign()).split('.') as [string, string, string]

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
    ['four parts', async () => `${await sign()}.x`],
    ['five parts', async () => `${await sign()}.x.y`],
    ['padding', async () => `${await sign()}==`],
    ['claims that are a list', async () => signedPayload('[1]')],
    ['claims that are no JSON', async () => signedPayload('{')],
    [
      'the claim iss twice, of which the last counts',
      async () => signedPayload(`{"iss":"${ISSUER}","iss":"x","exp":${String(now() + 300)}}`),
    ],
  ])('%s', async (_what, forge) => {
    expect(await statusOf('strict', await forge())).toBe(401)
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
    await eventually(async () => expect(await statusOf('weak')).toBe(401))
    const token = await signToken({
      key: { kid: 'weak', alg: 'RS256', privateKey, publicJwk: weak },
      claims: { iss: ISSUER },
    })
    expect(await statusOf('weak', token)).toBe(401)
  })
})

describe('the Authorization header', () => {
  const raw = async (...headers: readonly string[]): Promise<number> => {
    const seen = backend.requests.length
    const { status } = await send(stack.origin, '/strict', { headers })
    expect(backend.requests.length - seen).toBe(status === 200 ? 1 : 0)
    return status
  }

  test.each(['bearer', 'BEARER', 'BeArEr'])('the scheme may be written %s', async (scheme) => {
    expect(await raw('authorization', `${scheme} ${await sign()}`)).toBe(200)
  })

  test('twice is refused, whichever is good, and also when both are', async () => {
    const [good, bad] = [`Bearer ${await sign()}`, `Bearer ${await sign({}, attacker)}`]
    for (const [first, second] of [
      [good, bad],
      [bad, good],
      [good, good],
    ] as const)
      expect(await raw('authorization', first, 'Authorization', second)).toBe(401)
  })

  test('an empty second one is gone before anybody reads it', async () => {
    const good = `Bearer ${await sign()}`
    for (const values of [
      ['', good],
      [good, ''],
    ]) {
      const headers = values.flatMap((value) => ['authorization', value])
      expect((await send(stack.origin, '/forwarded', { headers })).status).toBe(200)
      const { rawHeaders = [] } = backend.requests.at(-1) ?? {}
      const names = rawHeaders.filter((_, index) => index % 2 === 0)
      expect(names.filter((name) => name.toLowerCase() === 'authorization')).toHaveLength(1)
      expect(rawHeaders).toContain(good)
    }
  })

  test.each<[string, (token: string) => string]>([
    ['two tokens joined by a comma', (token) => `Bearer ${token},Bearer ${token}`],
    ['two tokens joined by a comma and a space', (token) => `Bearer ${token}, Bearer ${token}`],
    ['two tokens', (token) => `Bearer ${token} ${token}`],
    ['no scheme', (token) => token],
    ['another scheme', (token) => `Basic ${token}`],
    ['a scheme that begins like ours', (token) => `Bearerx ${token}`],
    ['a tab', (token) => `Bearer\t${token}`],
    ['quotes', (token) => `Bearer "${token}"`],
    ['a trailing letter', (token) => `Bearer ${token}\u00e9`],
    ['nothing', () => 'Bearer'],
    ['an empty token', () => 'Bearer '],
  ])('%s', async (_what, value) => {
    expect(await raw('authorization', value(await sign()))).toBe(401)
  })

  test('a token over 16 KiB is refused, one below is not', async () => {
    const big = await sign({ filler: 'x'.repeat(9_000) })
    expect(big.length).toBeLessThan(16_000)
    expect(await statusOf('strict', big)).toBe(200)
    const huge = await sign({ filler: 'x'.repeat(12_500) })
    expect(huge.length).toBeGreaterThan(16_384)
    expect(await statusOf('strict', huge)).toBe(401)
  })

  test('bytes that are not UTF-8 are refused', async () => {
    const token = Buffer.from(await sign())
    for (const bad of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0x80]]) {
      const seen = backend.requests.length
      const answer = await rawBytes(
        Buffer.concat([Buffer.from('Bearer '), token, Buffer.from(bad)]),
      )
      expect(answer).toMatch(/^HTTP\/1\.1 40[01] /)
      expect(backend.requests).toHaveLength(seen)
    }
  })

  test('elsewhere than in the header a token counts for nothing', async () => {
    const token = await sign()
    for (const path of [`/strict?access_token=${token}`, `/strict?Authorization=Bearer%20${token}`])
      expect((await send(stack.origin, path)).status).toBe(401)
    for (const name of [
      'x-authorization',
      'proxy-authorization',
      'x-forwarded-access-token',
      'cookie',
    ])
      expect(await statusOf('strict', undefined, { [name]: `Bearer ${token}` })).toBe(401)
  })
})

/** One request whose Authorization header has exactly these bytes → the whole answer. */
async function rawBytes(authorization: Buffer): Promise<string> {
  const { hostname, port } = new URL(stack.origin)
  const socket = connect(Number(port), hostname)
  const start = `GET /strict HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\nAuthorization: `
  socket.write(Buffer.concat([Buffer.from(start), authorization, Buffer.from('\r\n\r\n')]))
  return text(socket)
}
