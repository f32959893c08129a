// Rate limits of a relay: a flood from one network is rejected as RFC 6749 specifies, and other clients are not
// affected.

import { describe, expect, test } from 'vitest'
import type { Reply } from '../../../../src/extproc/session/immediate-response.js'
import { err } from '../../../../src/kit/result.js'
import {
  approve,
  authorization,
  Browser,
  createWorld,
  exchange,
  form,
  html,
  json,
  locationOf,
  logIn,
  REDIRECT_URI,
  register,
  VERIFIER,
  type World,
} from './support.js'

const HONEST = '198.51.100'
const REGISTRATION = JSON.stringify({ redirect_uris: [REDIRECT_URI] })

const registration = (world: World, network: string): Promise<Reply> =>
  world.ask('registration', { method: 'POST', network, body: REGISTRATION })

/** Sends requests until one is rejected as too frequent. Returns that answer. */
async function flood(ask: () => Promise<Reply>, isRefused: (reply: Reply) => boolean) {
  for (let i = 0; i < 5000; i += 1) {
    const reply = await ask()
    if (isRefused(reply)) return reply
  }
  throw new Error('nothing was refused')
}

const is429 = ({ status }: Reply): boolean => status === 429

describe('registrations', () => {
  test('of one network are 429 beyond a bound, and others register', async () => {
    const world = createWorld()
    const refused = await flood(() => registration(world, '203.0.113'), is429)
    expect([refused.headers['retry-after'], json(refused)['error']]).toEqual([
      '5',
      'temporarily_unavailable',
    ])
    expect((await registration(world, HONEST)).status).toBe(201)
    world.now += 5000
    expect((await registration(world, '203.0.113')).status).toBe(201)
  })

  test('of many networks are 429 beyond a bound too', async () => {
    const world = createWorld()
    let network = 0
    await flood(() => registration(world, String((network += 1))), is429)
    expect((await registration(world, HONEST)).status).toBe(429)
    world.now += 1000
    expect((await registration(world, HONEST)).status).toBe(201)
  })
})

describe('logins', () => {
  const isBusy = (reply: Reply): boolean =>
    reply.status === 303 &&
    locationOf(reply).searchParams.get('error') === 'temporarily_unavailable'

  test('of one network are limited: the client gets an error, and others log in', async () => {
    const world = createWorld()
    const query = authorization(await register(world))
    const refused = await flood(() => world.ask('authorize', { query }), isBusy)
    expect(Object.fromEntries(locationOf(refused).searchParams)).toMatchObject({
      state: 'state-of-the-client',
      iss: world.relay.issuer,
    })
    const { status } = await world.ask('authorize', { query, network: HONEST })
    expect(status).toBe(200)
  })

  test('of a client whose document would have to be fetched get a page', async () => {
    const asked: string[] = []
    const get = (url: string) => {
      asked.push(url)
      return Promise.resolve(err('it cannot be read'))
    }
    const relay = { clientMetadataHosts: ['client.example'] }
    const world = createWorld({ relay, documents: { get } })
    const query = authorization('https://client.example/c.json')
    const refused = await flood(() => world.ask('authorize', { query }), is429)
    expect(refused.headers).toMatchObject({ 'retry-after': '5', 'cache-control': 'no-store' })
    expect(html(refused)).toContain('Too many logins')
    const before = asked.length
    await world.ask('authorize', { query })
    expect(asked).toHaveLength(before)
  })
})

test('tokens for one network are 429 beyond a bound, and others are given theirs', async () => {
  const world = createWorld()
  const { client, code } = await logIn(world)
  const first = json(await exchange(world, client, code))
  const body = form({
    grant_type: 'refresh_token',
    client_id: client,
    refresh_token: String(first['refresh_token']),
  })
  const refused = await flood(() => world.ask('token', { body }), is429)
  expect([refused.headers['retry-after'], json(refused)['error']]).toEqual([
    '5',
    'temporarily_unavailable',
  ])
  const asked = world.calls.length
  await world.ask('token', { body })
  expect(world.calls).toHaveLength(asked)
  expect((await world.ask('token', { body, network: HONEST })).status).toBe(200)
})

test.each<[string, (client: string) => string]>([
  ['made-up codes', (client) => form({ grant_type: 'authorization_code', client_id: client })],
  ['clients that nobody knows', () => form({ grant_type: 'refresh_token', client_id: 'made-up' })],
  ['no form at all', () => '{'],
])('token requests with %s are limited too, and others are given theirs', async (_, bodyOf) => {
  const world = createWorld()
  const { client, code } = await logIn(world)
  const body = bodyOf(client)
  expect((await flood(() => world.ask('token', { body }), is429)).headers).toMatchObject({
    'retry-after': '5',
  })
  const { status } = await world.ask('token', {
    network: HONEST,
    body: form({
      grant_type: 'authorization_code',
      client_id: client,
      code,
      redirect_uri: REDIRECT_URI,
      code_verifier: VERIFIER,
    }),
  })
  expect(status).toBe(200)
})

test('token requests of many networks are 429 beyond a bound too', async () => {
  const world = createWorld()
  let network = 0
  await flood(() => world.ask('token', { body: '', network: String((network += 1)) }), is429)
  expect((await world.ask('token', { body: '', network: HONEST })).status).toBe(429)
})

describe('answers of the provider', () => {
  test('of one network are 429 beyond a bound; a login there ends after it, others at once', async () => {
    const world = createWorld()
    const query = authorization(await register(world))
    const [here, elsewhere] = [new Browser(), new Browser()]
    const logins = [await approve(world, here, query), await approve(world, elsewhere, query)]
    const queries = logins.map((login) =>
      form({
        code: 'c',
        state: locationOf(login).searchParams.get('state') ?? '',
        iss: world.relay.providerIssuer,
      }),
    )
    const made = () => world.ask('callback', { query: 'state=made-up&code=c' })
    const refused = await flood(made, is429)
    expect([refused.headers['retry-after'], html(refused)]).toEqual([
      '5',
      expect.stringContaining('Reload this page') as string,
    ])
    const back = (at: number, { cookie }: Browser, network: string) =>
      world.ask('callback', { query: queries[at] ?? '', cookie, network })
    expect((await back(1, elsewhere, HONEST)).status).toBe(303)
    const held = await back(0, here, '203.0.113')
    expect([held.status, held.cookies]).toEqual([429, []])
    world.now += 1000
    expect((await back(0, here, '203.0.113')).status).toBe(303)
  })

  test('of many networks are 429 beyond a bound too', async () => {
    const world = createWorld()
    let network = 0
    await flood(() => world.ask('callback', { network: String((network += 1)) }), is429)
    expect((await world.ask('callback', { network: HONEST })).status).toBe(429)
  })
})

test('what another policy is asked for does not count', async () => {
  const world = createWorld()
  await flood(() => registration(world, HONEST), is429)
  const other = createWorld({ relay: { policy: 'default/other' } })
  Object.assign(other.deps, { bounds: world.deps.bounds })
  expect((await registration(other, HONEST)).status).toBe(201)
})
