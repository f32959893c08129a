// Which claims and token types make a correctly signed token acceptable (decision 5).

import { beforeAll, describe, expect, test } from 'vitest'
import { claimsFault, readClaims } from '../../../src/extauthz/token/claims.js'
import {
  compactParts,
  JoseHeaders,
  type Jws,
  parseJws,
  readParts,
} from '../../../src/extauthz/token/jws.js'
import {
  available,
  base64url,
  bearer,
  checker,
  CLAIMS,
  entry,
  ISSUER,
  jwt,
  NOW,
  provider,
  sign,
  type SigningKey,
  signingKey,
  signText,
} from '../helpers.js'

let key: SigningKey

beforeAll(async () => {
  key = await signingKey()
})

describe('claims', () => {
  const NUL = String.fromCharCode(0)
  const rows: [string, object, number][] = [
    ['as issued', {}, 200],
    ['no exp', { exp: undefined }, 401],
    ['expired within the leeway', { exp: NOW - 59 }, 200],
    ['expired beyond the leeway', { exp: NOW - 60 }, 401],
    ['a fraction in exp', { exp: NOW + 0.5 }, 200],
    ['a negative exp', { exp: -1 }, 401],
    ['a huge exp', { exp: 9e15 }, 200],
    ['exp as a string', { exp: String(NOW + 600) }, 401],
    ['exp null', { exp: null }, 401],
    ['nbf within the leeway', { nbf: NOW + 60 }, 200],
    ['nbf beyond the leeway', { nbf: NOW + 61 }, 401],
    ['nbf as a string', { nbf: '0' }, 401],
    ['another issuer', { iss: 'https://idp.example/other/' }, 401],
    ['the issuer without its slash', { iss: ISSUER.slice(0, -1) }, 401],
    ['no issuer', { iss: undefined }, 401],
    ['the issuer in a list', { iss: [ISSUER] }, 401],
    ['the issuer with a NUL', { iss: `${ISSUER}${NUL}` }, 401],
    ['the issuer with a newline', { iss: `${ISSUER}\n` }, 401],
    ['another audience', { aud: 'someone-else' }, 401],
    ['no audience', { aud: undefined }, 401],
    ['one of several audiences', { aud: ['a', 'mcp-client'] }, 200],
    ['none of several audiences', { aud: ['a', 'b'] }, 401],
    ['an audience with a newline', { aud: 'mcp-client\n' }, 401],
    ['an audience list with an object', { aud: ['mcp-client', {}] }, 401],
    ['an object as audience', { aud: { 'mcp-client': true } }, 401],
    ['an empty audience', { aud: '' }, 401],
    ['claims named like members of Object', { constructor: 'x', toString: 'y' }, 200],
    [
      'claims nested too deeply',
      { deep: JSON.parse('['.repeat(40) + ']'.repeat(40)) as unknown },
      401,
    ],
  ]
  test.each(rows)('%s', async (_name, claims, status) => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    expect((await check({ headers: [bearer(await sign(key, claims))] })).status).toBe(status)
  })

  test('without audiences in the policy aud is not looked at', async () => {
    const any = jwt(available(key.jwk), {
      providers: [provider(available(key.jwk), { audiences: [] })],
    })
    const { check } = checker([entry({ jwt: any })])
    expect((await check({ headers: [bearer(await sign(key, { aud: {} }))] })).status).toBe(200)
  })

  test('a claim named __proto__ reaches the metadata as a claim', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const claims = JSON.parse('{"__proto__":{"admin":true}}') as object
    const answer = await check({ headers: [bearer(await sign(key, claims))] })
    expect(answer.status).toBe(200)
  })

  test('a name that ends with an escape is the claim that it spells, whatever was parsed before', async () => {
    // Of a body that anybody may send.
    JSON.parse(String.raw`{"sid":[],"exp":1,"iss":"","aud":"","group\\":0}`)
    const deny = ['has(jwt.groups) && "blocked" in jwt.groups']
    const authorization = { deny, require: [], allow: [] }
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)), authorization })])
    const claims = `{"sid":1,"exp":${String(NOW + 600)},"iss":"${ISSUER}","aud":"${CLAIMS.aud}"`
    const token = await signText(key, String.raw`${claims},"group\u0073":["blocked"]}`)
    expect((await check({ headers: [bearer(token)] })).status).toBe(403)
  })

  test.each([
    ['JWT', 200],
    ['at+jwt', 200],
    ['application/at+jwt', 200],
    ['AT+JWT', 200],
    [undefined, 200],
    ['logout+jwt', 401],
    ['dpop+jwt', 401],
    ['', 401],
    [7, 401],
  ])('token type %s: %i', async (typ, status) => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const token = await sign(key, {}, typ === undefined ? {} : { typ })
    expect((await check({ headers: [bearer(token)] })).status).toBe(status)
  })
})

const jws = parseJws(`${base64url({ alg: 'RS256' })}.${base64url(CLAIMS)}.AAAA`)

test.each([
  [{}, undefined],
  [{ iss: 'https://evil.example' }, 'wrong-issuer'],
  [{ aud: 'x' }, 'wrong-audience'],
  [{ exp: NOW - 60 }, 'expired'],
  [{ exp: 'soon' }, 'malformed-claims'],
  [{ nbf: 'soon' }, 'malformed-claims'],
  [{ nbf: NOW + 61 }, 'not-yet-valid'],
])('apart from how the provider was picked, %j: %s', (claims, fault) => {
  if (jws === undefined) throw new Error('not a JWS')
  const rules = { issuer: ISSUER, audiences: ['mcp-client'] }
  expect(claimsFault(jws.header, { ...CLAIMS, ...claims }, rules, NOW)).toBe(fault)
})

test('a header that was read before is read the same, and one that was refused is refused again', () => {
  const headers = new JoseHeaders()
  const read = (header: object): Jws | undefined => {
    const parts = compactParts(`${base64url(header)}.${base64url(CLAIMS)}.AAAA`, headers)
    return parts && readParts(parts, headers)
  }
  for (let i = 0; i < 200; i++) {
    const header = { alg: 'RS256', kid: `k${String(i % 100)}` }
    expect(read(header)?.header).toEqual({ algorithm: 'RS256', kid: header.kid, isToken: true })
    expect(read({ ...header, crit: ['b64'] })).toBeUndefined()
  }
})

describe('the text of claims', () => {
  const exactOf = (members: string): string | undefined => {
    const text = `{"iss":"a","x":[${members}]}`
    const read = parseJws(`${base64url({ alg: 'RS256' })}.${base64url(text)}.AAAA`)
    const claims = read && readClaims(read)
    expect(claims?.json).toEqual(JSON.parse(text))
    return claims?.exact
  }

  test.each(['9007199254740992', '-9007199254740993', '1, {"a":[1234567890123456789]}, 2'])(
    'is kept where JSON.parse may have rounded: %s',
    (members) => {
      expect(exactOf(members)).toBe(`{"iss":"a","x":[${members}]}`)
    },
  )

  test.each([
    '9007199254740991',
    '-9007199254740991',
    '1234567890123456',
    '0.12345678901234567890',
    '"1234567890123456789"',
    '{"1234567890123456789":1}',
    '1e3, true, null, ""',
  ])('is not where it cannot: %s', (members) => {
    expect(exactOf(members)).toBeUndefined()
  })
})
