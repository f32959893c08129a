// Requests to a relay that are refused, and answers of the provider that are errors: what the client and the browser are
// told.

import { describe, expect, test } from 'vitest'
import { err } from '../../../../src/kit/result.js'
import {
  approve,
  authorization,
  Browser,
  BROWSER_HEADERS,
  comeBack,
  createWorld,
  html,
  locationOf,
  query,
  register,
} from './support.js'

describe('a request that is not good', () => {
  test.each<[string, (client: string) => string]>([
    ['no client', () => 'response_type=code'],
    ['a client that nobody has registered', () => authorization('gh1.a.b')],
    ['a client of a host that is not read', () => authorization('https://clients.example/a.json')],
    ['two clients', (client) => `${authorization(client)}&client_id=b`],
    ['two redirect URIs', (client) => `${authorization(client)}&redirect_uri=b`],
    [
      'a redirect URI that is not registered',
      (client) => authorization(client, { redirect_uri: 'http://127.0.0.1/other' }),
    ],
    ['no end', (client) => authorization(client, { state: 's'.repeat(20_000) })],
  ])('with %s gets a page, and is not redirected', async (_, asked) => {
    const world = createWorld()
    const reply = await world.ask('authorize', { query: asked(await register(world)) })
    expect([reply.status, reply.headers['location']]).toEqual([400, undefined])
    expect(reply.headers).toMatchObject(BROWSER_HEADERS)
  })

  test.each<[string, string, Readonly<Record<string, string | undefined>>]>([
    ['', 'invalid_target', { resource: 'https://other.example' }],
    ['', 'invalid_request', { code_challenge_method: 'plain' }],
    ['&scope=openid', 'invalid_request', {}],
  ])('is otherwise reported to the client (%#)', async (more, error, change) => {
    const world = createWorld()
    const asked = authorization(await register(world), change) + more
    const reply = await world.ask('authorize', { query: asked })
    expect(query(locationOf(reply))).toMatchObject({
      error,
      state: 'state-of-the-client',
      iss: world.relay.issuer,
    })
  })

  test('asks to register again if the registration has expired', async () => {
    const world = createWorld({ relay: { clientLifetimeMs: 60_000 } })
    const client = await register(world)
    world.now += 60_000
    const reply = await world.ask('authorize', { query: authorization(client) })
    expect([reply.status, html(reply)]).toEqual([400, expect.stringContaining('register again')])
  })

  test('is told to retry while the provider is not known yet', async () => {
    const world = createWorld()
    Reflect.deleteProperty(world.relay, 'provider')
    const reply = await world.ask('authorize', { query: authorization(await register(world)) })
    expect(query(locationOf(reply))).toMatchObject({ error: 'temporarily_unavailable' })
  })

  test.each<['authorize' | 'callback' | 'token', string]>([
    ['authorize', 'DELETE'],
    ['callback', 'POST'],
  ])('of another method at %s', async (endpoint, method) => {
    const { refusedEarly } = await import('../../../../src/addons/relay/extproc/relay-replies.js')
    expect(refusedEarly(endpoint, method, undefined)).toMatchObject({ status: 405 })
    expect(refusedEarly('token', 'GET', undefined)?.headers).toMatchObject({ allow: 'POST' })
  })
})

describe('the answer of the provider', () => {
  async function answered(change: Readonly<Record<string, string | undefined>>, sendsIss = true) {
    const { provider } = createWorld().relay
    const world = createWorld({
      ...(provider && { relay: { provider: { ...provider, sendsIss } } }),
    })
    const browser = new Browser()
    const login = await approve(world, browser, authorization(await register(world)))
    return comeBack(world, browser, login, change)
  }

  test.each<[string, Readonly<Record<string, string | undefined>>, string]>([
    ['another iss', { iss: 'https://evil.example' }, 'server_error'],
    ['no iss, though it is promised', { iss: undefined }, 'server_error'],
    ['no code', { code: undefined }, 'server_error'],
    ['a code without end', { code: 'c'.repeat(8193) }, 'server_error'],
    ['an error for the client', { code: undefined, error: 'access_denied' }, 'access_denied'],
    ['an error of the gateway', { code: undefined, error: 'unauthorized_client' }, 'server_error'],
  ])('with %s is an error for the client, with the iss of the relay', async (_, change, error) => {
    const reply = await answered(change)
    expect(query(locationOf(reply))).toMatchObject({ error, iss: 'https://gw.example/mcp' })
    expect(locationOf(reply).searchParams.has('code')).toBe(false)
  })

  test('without iss is good where none is promised, and another never is', async () => {
    expect(locationOf(await answered({ iss: undefined }, false)).searchParams.has('code')).toBe(
      true,
    )
    expect(
      locationOf(await answered({ iss: 'https://evil.example' }, false)).searchParams.get('error'),
    ).toBe('server_error')
  })

  test('needs iss while it is unknown whether the provider sends it', async () => {
    const world = createWorld()
    const back = async (change: Readonly<Record<string, string | undefined>>) => {
      const browser = new Browser()
      const { provider } = createWorld().relay
      Object.assign(world.relay, { provider })
      const login = await approve(world, browser, authorization(await register(world)))
      Reflect.deleteProperty(world.relay, 'provider')
      return locationOf(await comeBack(world, browser, login, change))
    }
    const refused = await back({ iss: undefined })
    expect(query(refused)).toMatchObject({ error: 'temporarily_unavailable' })
    expect(refused.searchParams.has('code')).toBe(false)
    expect((await back({})).searchParams.has('code')).toBe(true)
  })

  test.each(['state=a&state=b', '', 'state=made-up&code=c'])(
    '%j is not redirected',
    async (asked) => {
      const reply = await createWorld().ask('callback', { query: asked })
      expect([reply.status, reply.headers['location']]).toEqual([400, undefined])
    },
  )
})

test('a client whose description cannot be read gets a page that says so', async () => {
  const world = createWorld({
    relay: { clientMetadataHosts: ['clients.example'] },
    documents: { get: () => Promise.resolve(err('It cannot be read.')) },
  })
  const reply = await world.ask('authorize', {
    query: authorization('https://clients.example/a.json'),
  })
  expect([reply.status, html(reply)]).toEqual([400, expect.stringContaining('It cannot be read.')])
})
