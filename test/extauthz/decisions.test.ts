// Who is let in and who is told what: one row per rule of the specification and of the decisions on tokens.

import { beforeAll, describe, expect, test } from 'vitest'
import type { AuthzEntry, Authorization, JwtAuthentication } from '../../src/ir/authz-entry.js'
import {
  available,
  bearer,
  checker,
  CLAIMS,
  entry,
  ISSUER,
  jwt,
  NOW,
  provider,
  sign,
  signingKey,
  UNAVAILABLE,
  type SigningKey,
} from './helpers.js'

let key: SigningKey
let other: SigningKey

beforeAll(async () => {
  key = await signingKey()
  other = await signingKey('ES256', 'k2')
})

const CHALLENGE =
  'Bearer resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp"'

describe('a Strict route', () => {
  test('lets a valid token in, hands on its claims and takes the token away', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const answer = await check({ headers: [bearer(await sign(key))] })
    expect(answer.status).toBe(200)
    expect(answer.metadata).toEqual({ jwt: CLAIMS })
    expect(answer.removed).toContain('authorization')
  })

  test('says the same when it remembers the token', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const headers = [bearer(await sign(key))]
    const first = await check({ headers })
    expect(await check({ headers })).toEqual(first)
  })

  test('answers a request without a token with the challenge of the specification', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const answer = await check({})
    expect(answer.status).toBe(401)
    expect(answer.headers).toEqual({
      'content-type': 'application/json',
      'www-authenticate': CHALLENGE,
    })
    expect(JSON.parse(answer.body)).toEqual({
      error: 'unauthorized',
      error_description: expect.stringMatching(/^Unauthorized: /) as string,
    })
  })

  test('does not tell the kinds of bad tokens apart', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const answers = await Promise.all(
      [{ exp: NOW - 600 }, { iss: 'https://evil.example' }, { aud: 'someone' }].map(
        async (claims) => check({ headers: [bearer(await sign(key, claims))] }),
      ),
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]?.headers['www-authenticate']).toBe(CHALLENGE)
  })

  test('keeps Authorization for the backend where the policy says so', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk), { forwardToken: true }) })])
    const answer = await check({ headers: [bearer(await sign(key))] })
    expect(answer.status).toBe(200)
    expect(answer.removed).not.toContain('authorization')
  })

  test("removes a client's copies of headers that mean something to Envoy or to us", async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const { removed } = await check({ headers: [bearer(await sign(key))] })
    expect(removed).toEqual(expect.arrayContaining(['x-envoy-original-path', 'x-gatehouse-route']))
  })

  test('without mcp asks for a bearer token plainly', async () => {
    const { key: routeKey, route, paths } = entry({})
    const plain = { key: routeKey, route, paths, jwt: jwt(available(key.jwk)) }
    const answer = await checker([plain]).check({})
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toBe('Bearer')
  })

  test('adds RFC 6750 details where the policy asks for them', async () => {
    const challenge = { paths: { mcpPath: '/mcp' }, details: true, scopes: ['openid', 'profile'] }
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)), challenge })])
    const expired = await check({ headers: [bearer(await sign(key, { exp: NOW - 600 }))] })
    expect(expired.headers['www-authenticate']).toBe(
      `${CHALLENGE}, error="invalid_token", error_description="The token has expired", scope="openid profile"`,
    )
    expect((await check({})).headers['www-authenticate']).toBe(
      `${CHALLENGE}, scope="openid profile"`,
    )
  })
})

describe('the challenge', () => {
  test.each([
    ['gw.example:8080', 'http', undefined, 'http://gw.example:8080'],
    ['[::1]:8080', 'http', undefined, 'http://[::1]:8080'],
    ['gw.example', 'http', 'https', 'https://gw.example'],
  ])('for host %s over %s (forwarded: %s) names %s', async (host, scheme, forwarded, origin) => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const headers: [string, string][] =
      forwarded === undefined ? [] : [['x-forwarded-proto', forwarded]]
    const answer = await check({ host, scheme, headers })
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
    )
  })

  test('names the configured origin whatever the request says', async () => {
    const challenge = {
      paths: { mcpPath: '/mcp', origin: 'https://public.example' },
      details: false,
      scopes: [],
    }
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)), challenge })])
    expect((await check({ host: 'evil.example' })).headers['www-authenticate']).toBe(
      'Bearer resource_metadata="https://public.example/.well-known/oauth-protected-resource/mcp"',
    )
  })

  test.each(['a", error="x', 'a\r\nset-cookie: x', 'a/b', 'user@host', '', 'a b', 'é.example'])(
    'is not broken out of by the host %j',
    async (host) => {
      const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
      expect((await check({ host })).headers['www-authenticate']).toBe('Bearer')
    },
  )
})

describe('modes', () => {
  const rows: [JwtAuthentication['mode'], 'none' | 'bad' | 'good', 'keys' | 'no keys', number][] = [
    ['Strict', 'none', 'keys', 401],
    ['Strict', 'bad', 'keys', 401],
    ['Strict', 'good', 'keys', 200],
    ['Strict', 'none', 'no keys', 503],
    ['Strict', 'bad', 'no keys', 503],
    ['Strict', 'good', 'no keys', 503],
    ['Optional', 'none', 'keys', 200],
    ['Optional', 'bad', 'keys', 401],
    ['Optional', 'good', 'keys', 200],
    ['Optional', 'none', 'no keys', 200],
    ['Optional', 'bad', 'no keys', 503],
    ['Optional', 'good', 'no keys', 503],
    ['Permissive', 'none', 'keys', 200],
    ['Permissive', 'bad', 'keys', 200],
    ['Permissive', 'good', 'keys', 200],
    ['Permissive', 'none', 'no keys', 200],
    ['Permissive', 'bad', 'no keys', 200],
    ['Permissive', 'good', 'no keys', 200],
  ]
  test.each(rows)('%s, %s token, %s: %i', async (mode, token, keys, status) => {
    const keySet = keys === 'keys' ? available(key.jwk) : UNAVAILABLE
    const { check } = checker([entry({ jwt: jwt(keySet, { mode }) })])
    const text = await sign(
      token === 'bad' ? { ...key, privateKey: (await signingKey()).privateKey } : key,
    )
    const answer = await check({ headers: token === 'none' ? [] : [bearer(text)] })
    expect(answer.status).toBe(status)
    const hasClaims = token === 'good' && keys === 'keys'
    expect(answer.metadata !== undefined).toBe(hasClaims)
  })

  test('a route whose keys were never fetched says when to come back', async () => {
    const { check, observed } = checker([entry({ jwt: jwt(UNAVAILABLE) })])
    const answer = await check({})
    expect(answer.headers['retry-after']).toBe('5')
    expect(observed.decisions).toEqual([
      { route: 'default/mcp', decision: 'deny', reason: 'key-set-unavailable' },
    ])
  })

  test.each(['garbage', 'a.b.c'])(
    'without any keys the token %j is not looked into',
    async (token) => {
      for (const mode of ['Strict', 'Optional'] as const) {
        const { check } = checker([entry({ jwt: jwt(UNAVAILABLE, { mode }) })])
        expect((await check({ headers: [bearer(token)] })).status).toBe(503)
      }
    },
  )

  test('a token of a provider with keys gets in while another provider has none', async () => {
    const second = provider(available(other.jwk), { issuer: 'https://two.example' })
    const both = jwt(UNAVAILABLE, { providers: [provider(UNAVAILABLE), second] })
    const { check } = checker([entry({ jwt: both })])
    const token = await sign(other, { iss: 'https://two.example' })
    expect((await check({ headers: [bearer(token)] })).status).toBe(200)
    expect((await check({ headers: [bearer(await sign(key))] })).status).toBe(503)
    expect((await check({})).status).toBe(401)
  })
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

describe('rules', () => {
  const rows: [string, Partial<Authorization>, 'token' | 'no token', number][] = [
    ['no rules', {}, 'token', 200],
    ['an Allow that is true', { allow: ['"mcp-users" in jwt.groups'] }, 'token', 200],
    ['an Allow that is false', { allow: ['"admins" in jwt.groups'] }, 'token', 403],
    ['one Allow of two', { allow: ['"admins" in jwt.groups', 'jwt.sub == "alice"'] }, 'token', 200],
    ['an Allow that fails', { allow: ['jwt.nope == "x"'] }, 'token', 403],
    ['an Allow that is no boolean', { allow: ['jwt.sub'] }, 'token', 403],
    ['a Deny that is true', { deny: ['jwt.sub == "alice"'] }, 'token', 403],
    ['a Deny that is false', { deny: ['jwt.sub == "bob"'] }, 'token', 200],
    ['a Deny that fails refuses', { deny: ['jwt.nope == "x"'] }, 'token', 403],
    ['a Deny that is no boolean refuses', { deny: ['jwt.sub'] }, 'token', 403],
    ['a Deny goes before an Allow', { deny: ['true'], allow: ['true'] }, 'token', 403],
    ['every Require is needed', { require: ['true', 'jwt.sub == "bob"'] }, 'token', 403],
    ['all Requires are true', { require: ['true', 'jwt.sub == "alice"'] }, 'token', 200],
    ['a Require that fails', { require: ['jwt.nope == "x"'] }, 'token', 403],
    ['a Require goes before an Allow', { require: ['false'], allow: ['true'] }, 'token', 403],
    ['without a token jwt is null', { allow: ['jwt == null'] }, 'no token', 200],
    ['without a token a claim is an error', { allow: ['jwt.sub != "bob"'] }, 'no token', 403],
    [
      'the method and the path',
      { allow: ['request.method == "POST" && request.path == "/mcp"'] },
      'token',
      200,
    ],
    ['a header', { allow: ['request.headers["x-team"] == "blue"'] }, 'token', 200],
    ['all headers', { allow: ['request.headers.exists(h, h == "x-team")'] }, 'token', 200],
    [
      'a header sent twice is a list',
      { allow: ['request.headers["x-two"] == ["1", "2"]'] },
      'token',
      200,
    ],
    [
      "the client's address",
      { allow: ['cidr("10.0.0.0/8").containsIP(source.address)'] },
      'token',
      200,
    ],
  ]
  test.each(rows)('%s', async (_name, rules, token, status) => {
    const authorization = { deny: [], require: [], allow: [], ...rules }
    const authentication = jwt(available(key.jwk), { mode: 'Optional' })
    const { check } = checker([entry({ jwt: authentication, authorization })])
    const text = await sign(key, { groups: ['mcp-users'] })
    const answer = await check({
      address: '10.1.2.3',
      headers: [
        ...(token === 'token' ? [bearer(text)] : []),
        ['x-team', 'blue'],
        ['x-two', '1'],
        ['x-two', '2'],
      ],
    })
    expect(answer.status).toBe(status)
  })

  test('a refusal is a plain 403: no challenge that would begin another login', async () => {
    const authorization = { deny: [], require: [], allow: ['false'] }
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)), authorization })])
    const answer = await check({ headers: [bearer(await sign(key))] })
    expect(answer.status).toBe(403)
    expect(answer.headers).toEqual({ 'content-type': 'application/json' })
    expect(JSON.parse(answer.body)).toMatchObject({ error: 'forbidden' })
  })

  test('a rule that does not compile refuses everybody', async () => {
    const authorization = { deny: [], require: [], allow: ['true', 'jwt.sub =='] }
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)), authorization })])
    expect((await check({ headers: [bearer(await sign(key))] })).status).toBe(500)
  })

  test('authorization alone leaves Authorization as it is', async () => {
    const authorization = { deny: [], require: [], allow: ['request.method == "POST"'] }
    const { check } = checker([entry({ authorization })])
    const answer = await check({ headers: [['authorization', 'Basic eDp5']] })
    expect(answer.status).toBe(200)
    expect(answer.removed).not.toContain('authorization')
  })
})

describe('which entry', () => {
  const open: AuthzEntry = entry({})
  test.each([
    ['a missing key', null],
    ['an empty key', ''],
    ['an unknown key', 'default/other/0'],
    ['a member of Object', 'constructor'],
  ])('%s is refused', async (_name, wanted) => {
    const { check, observed } = checker([open])
    expect((await check({ key: wanted })).status).toBe(503)
    expect(observed.decisions).toEqual([
      { route: 'unknown', decision: 'deny', reason: 'unknown-route' },
    ])
    expect(observed.lines).toHaveLength(1)
  })

  test('two providers: the issuer of the token picks', async () => {
    const two = provider(available(other.jwk), {
      issuer: 'https://two.example',
      audiences: ['two'],
    })
    const both = jwt(available(key.jwk), { providers: [provider(available(key.jwk)), two] })
    const { check } = checker([entry({ jwt: both })])
    const ask = async (claims: object, by: SigningKey): Promise<number> =>
      (await check({ headers: [bearer(await sign(by, claims))] })).status
    expect(await ask({}, key)).toBe(200)
    expect(await ask({ iss: 'https://two.example', aud: 'two' }, other)).toBe(200)
    expect(await ask({ iss: 'https://two.example', aud: 'mcp-client' }, other)).toBe(401)
    expect(await ask({ aud: 'two' }, key)).toBe(401)
    expect(
      await ask({ iss: 'https://two.example', aud: 'two' }, { ...key, jwk: { ...key.jwk } }),
    ).toBe(401)
  })
})
