// The token endpoint of a relay: the client is checked before the provider is asked, and the provider's answers are
// converted.

import { describe, expect, test } from 'vitest'
import { err, ok } from '../../../../src/kit/result.js'
import {
  ACCESS,
  AS,
  createWorld,
  exchange,
  json,
  logIn,
  ORIGIN,
  refresh,
  register,
  sent,
  tokens,
  VERIFIER,
  type World,
} from './support.js'

describe('a code', () => {
  test('becomes a token of the provider, without its id_token', async () => {
    const world = createWorld({
      call: tokens({
        refresh_token: 'rt',
        id_token: ACCESS,
        scope: 'profile openid email',
        expires_in: 60,
        other: 1,
      }),
    })
    const { client, code } = await logIn(world)
    const reply = await exchange(world, client, code, { resource: world.relay.resource })
    expect([reply.status, reply.headers['cache-control'], json(reply)]).toEqual([
      200,
      'no-store',
      {
        access_token: ACCESS,
        token_type: 'Bearer',
        expires_in: 60,
        scope: 'openid',
        refresh_token: expect.not.stringContaining('rt ') as string,
      },
    ])
    expect(sent(world)).toEqual({
      grant_type: 'authorization_code',
      code: 'code-of-the-provider',
      redirect_uri: `${ORIGIN}${AS}/callback`,
      code_verifier: VERIFIER,
      resource: world.relay.resource,
      client_id: 'registered',
    })
  })

  test.each([
    // The client asked for openid.
    [{}, 'openid'],
    [{ scope: 5 }, 'openid'],
    [{ scope: 'profile openid' }, 'openid'],
    [{ scope: 'profile email' }, 'profile email'],
    [{ scope: 'a"b pro\u0000file email' }, 'email'],
    [{ scope: '' }, undefined],
  ])('whose answer has %j becomes a token with the scopes %j', async (answer, scope) => {
    const world = createWorld({ call: tokens(answer) })
    const { client, code } = await logIn(world)
    expect(json(await exchange(world, client, code))).toEqual({
      access_token: ACCESS,
      token_type: 'Bearer',
      ...(scope !== undefined && { scope }),
    })
  })

  test('of a relay without scopes has none, whatever the provider adds', async () => {
    const world = createWorld({ relay: { scopes: [] }, call: tokens({ scope: 'profile email' }) })
    const { client, code } = await logIn(world, { scope: undefined })
    const answer = json(await exchange(world, client, code))
    expect(answer).toEqual({ access_token: ACCESS, token_type: 'Bearer' })
  })

  test('for its resource, however the client writes it (RFC 3986 section 6.2)', async () => {
    for (const resource of ['HTTPS://GW.example:443/mcp', 'https://gw.example/./%6dcp']) {
      const world = createWorld()
      const { client, code } = await logIn(world)
      const reply = await exchange(world, client, code, { resource })
      expect(json(reply)).toMatchObject({ access_token: ACCESS })
    }
  })

  test.each<[string, Readonly<Record<string, string | undefined>>, string]>([
    ['another verifier', { code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
    ['no verifier', { code_verifier: undefined }, 'invalid_request'],
    ['no redirect URI', { redirect_uri: undefined }, 'invalid_request'],
    ['no code', { code: undefined }, 'invalid_request'],
    ['no grant', { grant_type: undefined }, 'invalid_request'],
    ['a short verifier', { code_verifier: 'v' }, 'invalid_grant'],
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1:4712/cb' }, 'invalid_grant'],
    ['another resource', { resource: 'https://gw.example/other' }, 'invalid_target'],
    ['another code', { code: 'made-up' }, 'invalid_grant'],
    ['another grant', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    ['no client', { client_id: undefined }, 'invalid_request'],
  ])('with %s never reaches the provider', async (_, change, error) => {
    const world = createWorld()
    const { client, code } = await logIn(world)
    const reply = await exchange(world, client, code, change)
    expect([reply.status, json(reply)['error'], world.calls]).toEqual([400, error, []])
  })

  test('of another client never reaches the provider', async () => {
    const world = createWorld()
    const { code } = await logIn(world)
    world.now += 1000
    const reply = await exchange(world, await register(world), code)
    expect([reply.status, json(reply)['error'], world.calls]).toEqual([400, 'invalid_grant', []])
  })

  test('is good for a minute', async () => {
    const world = createWorld()
    const { client, code } = await logIn(world)
    world.now += 60_000
    expect(json(await exchange(world, client, code))['error']).toBe('invalid_grant')
  })

  test('of a client whose registration has ended is invalid_client', async () => {
    const world = createWorld({ relay: { clientLifetimeMs: 60_000 } })
    const { client, code } = await logIn(world)
    world.now += 60_000
    const reply = await exchange(world, client, code)
    expect([reply.status, json(reply)['error']]).toEqual([401, 'invalid_client'])
  })
})

describe('a request', () => {
  const ask = (world: World, body: string, more: object = {}) =>
    world.ask('token', { body, ...more })

  test.each<[string, string, object]>([
    ['with a parameter twice', 'client_id=a&client_id=b', {}],
    ['that is no form', '{}', { contentType: 'application/json' }],
  ])('%s is invalid_request', async (_, body, more) => {
    const reply = await ask(createWorld(), body, more)
    expect([reply.status, json(reply)['error']]).toEqual([400, 'invalid_request'])
  })

  test.each([
    ['Basic YTpi', 'Basic realm="token"'],
    ['bearer abc', 'Bearer realm="token"'],
    ['', 'Basic realm="token"'],
  ])('with the credentials %j is invalid_client', async (credentials, challenge) => {
    const reply = await ask(createWorld(), 'client_id=a', { credentials })
    expect([reply.status, json(reply)['error'], reply.headers['www-authenticate']]).toEqual([
      401,
      'invalid_client',
      challenge,
    ])
  })

  test('larger than 64 KiB is 413', async () => {
    expect((await ask(createWorld(), 'x'.repeat(65_537))).status).toBe(413)
  })
})

describe('a refresh token', () => {
  test('is wrapped, and the provider gets its own', async () => {
    const world = createWorld()
    const { client, code } = await logIn(world)
    const first = json(await exchange(world, client, code))
    const reply = await refresh(world, client, first['refresh_token'], { scope: 'openid' })
    expect(json(reply)).toMatchObject({ access_token: ACCESS, scope: 'openid' })
    expect(sent(world)).toMatchObject({
      grant_type: 'refresh_token',
      refresh_token: 'rt-of-the-provider',
      scope: 'openid',
    })
    expect(JSON.stringify(first)).not.toContain('rt-of-the-provider')
  })

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ['a wider scope', { scope: 'openid files:read' }, 'invalid_scope'],
    ['another resource', { resource: 'https://other.example' }, 'invalid_target'],
    ['nothing in it', { refresh_token: '' }, 'invalid_request'],
    ["the provider's own", { refresh_token: 'rt-of-the-provider' }, 'invalid_grant'],
  ])('with %s never reaches the provider', async (_, change, error) => {
    const world = createWorld()
    const { client, code } = await logIn(world)
    const first = json(await exchange(world, client, code))
    world.calls.length = 0
    const reply = await refresh(world, client, first['refresh_token'], change)
    expect([json(reply)['error'], world.calls]).toEqual([error, []])
  })

  test('of another client never reaches the provider', async () => {
    const world = createWorld()
    const { client, code } = await logIn(world)
    const first = json(await exchange(world, client, code))
    world.now += 1000
    const reply = await refresh(world, await register(world), first['refresh_token'])
    expect([json(reply)['error'], world.calls.length]).toEqual(['invalid_grant', 1])
  })

  test('is no code, and a code is no refresh token', async () => {
    const world = createWorld()
    const { client, code } = await logIn(world)
    const first = json(await exchange(world, client, code))
    expect(json(await refresh(world, client, code))['error']).toBe('invalid_grant')
    const reply = await exchange(world, client, String(first['refresh_token']))
    expect(json(reply)['error']).toBe('invalid_grant')
  })
})

describe('the client secret', () => {
  const SECRET = 'a b:ü'

  test('is sent in the header, encoded', async () => {
    const world = createWorld({ relay: { clientSecret: SECRET } })
    const { client, code } = await logIn(world)
    await exchange(world, client, code)
    const header = world.calls[0]?.request.headers?.['authorization'] ?? ''
    expect(Buffer.from(header.slice(6), 'base64').toString()).toBe('registered:a+b%3A%C3%BC')
    expect(sent(world)).not.toHaveProperty('client_id')
    expect(sent(world)).not.toHaveProperty('client_secret')
  })

  test('is sent in the body where the provider takes it there alone', async () => {
    const { provider } = createWorld().relay
    const world = createWorld({
      relay: {
        clientSecret: SECRET,
        ...(provider && { provider: { ...provider, secretIn: 'body' } }),
      },
    })
    const { client, code } = await logIn(world)
    await exchange(world, client, code)
    expect(world.calls[0]?.request.headers).not.toHaveProperty('authorization')
    expect(sent(world)).toMatchObject({ client_id: 'registered', client_secret: SECRET })
  })
})

describe('the provider', () => {
  const answers = (status: number, body: string) => () =>
    Promise.resolve(ok({ status, headers: {}, body: Buffer.from(body) }))

  test.each<[string, Parameters<typeof createWorld>[0], number, string]>([
    [
      'refuses the grant',
      { call: answers(400, '{"error":"invalid_grant"}') },
      400,
      'invalid_grant',
    ],
    [
      'refuses the scope',
      { call: answers(400, '{"error":"invalid_scope"}') },
      400,
      'invalid_scope',
    ],
    [
      "does not know the gateway's client",
      { call: answers(401, '{"error":"invalid_client"}') },
      502,
      'server_error',
    ],
    ['answers a page', { call: answers(200, '<html>') }, 502, 'server_error'],
    ['answers no token', { call: answers(200, '{}') }, 502, 'server_error'],
    [
      'issues opaque tokens',
      { call: answers(200, '{"access_token":"opaque"}') },
      502,
      'server_error',
    ],
    [
      'hangs past its deadline',
      { call: () => Promise.resolve(err({ type: 'timeout', timeoutMs: 1 })) },
      502,
      'temporarily_unavailable',
    ],
    [
      'cannot be reached',
      { call: () => Promise.resolve(err({ type: 'broken', code: 'ECONNRESET' })) },
      502,
      'temporarily_unavailable',
    ],
  ])('%s', async (_, options, status, error) => {
    const world = createWorld(options)
    const { client, code } = await logIn(world)
    const reply = await exchange(world, client, code)
    expect([reply.status, json(reply)['error']]).toEqual([status, error])
  })

  test('is asked by so many at a time; a client that leaves gives its place back', async () => {
    const world = createWorld({
      call: (_, { signal }) =>
        new Promise((resolve) => {
          signal?.addEventListener('abort', () => resolve(err({ type: 'aborted' })))
        }),
    })
    const { client, code } = await logIn(world)
    const leaving = new AbortController()
    const waiting = [1, 2].map(() => exchange(world, client, code, {}, leaving.signal))
    expect((await exchange(world, client, code)).status).toBe(503)
    leaving.abort()
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([502, 502])
    const third = new AbortController()
    const next = exchange(world, client, code, {}, third.signal)
    third.abort()
    expect((await next).status).toBe(502)
  })
})
