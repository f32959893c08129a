// Who is allowed and what each caller is answered: one row per rule of the specification and of the decisions on
// tokens.

import { beforeAll, describe, expect, test } from 'vitest'
import type { AuthzEntry, JwtAuthentication } from '../../src/model/authz-entry.js'
import {
  available,
  bearer,
  checker,
  CLAIMS,
  entry,
  jwt,
  NOW,
  provider,
  sign,
  type SigningKey,
  signingKey,
  UNAVAILABLE,
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

  test('gives the same answer for a remembered token', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const headers = [bearer(await sign(key))]
    const first = await check({ headers })
    for (let use = 2; use <= 4; use++) expect(await check({ headers })).toEqual(first)
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

  test('answers all kinds of bad tokens alike', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const answers = await Promise.all(
      [{ exp: NOW - 600 }, { iss: 'https://evil.example' }, { aud: 'someone' }].map(
        async (claims) => check({ headers: [bearer(await sign(key, claims))] }),
      ),
    )
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1)
    expect(answers[0]?.headers['www-authenticate']).toBe(CHALLENGE)
  })

  test('keeps Authorization for the backend if the policy asks for it', async () => {
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

  test('a route whose keys were never fetched says when to retry', async () => {
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

  test.each([
    ['the same audience', {}],
    ['another audience', { audiences: ['another'] }],
  ])('a token is not refused while keys of its issuer are missing: %s', async (_what, rest) => {
    const [first, second] = [provider(UNAVAILABLE), provider(available(other.jwk), rest)]
    for (const providers of [
      [first, second],
      [second, first],
    ]) {
      const { check } = checker([entry({ jwt: jwt(UNAVAILABLE, { providers }) })])
      expect((await check({ headers: [bearer(await sign(key))] })).status).toBe(503)
    }
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

test('a route that lacks the policy that is required answers 503 to a valid token too', async () => {
  const { check } = checker([entry({ lacksPolicy: true })])
  for (const headers of [[], [bearer(await sign(key))]]) {
    const answer = await check({ headers })
    expect(answer.status).toBe(503)
    expect(JSON.parse(answer.body)).toEqual({
      error: 'server_error',
      error_description: 'No policy decides who may use this route',
    })
  }
})
