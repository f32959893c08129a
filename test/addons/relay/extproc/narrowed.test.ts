// Logins, codes and refresh tokens that a relay has sealed before its policy was narrowed: they go no further than it
// allows now.

import { describe, expect, test } from 'vitest'
import { hashOfText } from '../../../../src/addons/relay/oauth/client.js'
import { sealCode, sealRefresh } from '../../../../src/addons/relay/oauth/transaction.js'
import { ok } from '../../../../src/kit/result.js'
import type { Relay } from '../../../../src/model/relay.js'
import {
  ACCESS,
  approve,
  authorization,
  Browser,
  CHALLENGE,
  comeBack,
  createWorld,
  exchange,
  html,
  json,
  locationOf,
  query,
  REDIRECT_URI,
  refresh,
  sent,
  tokens,
  type World,
  type WorldOptions,
} from './support.js'

const APP = 'https://app.example/cb'
const DOCUMENT = 'https://clients.example/a.json'

/** The policy as it is from now on. */
function narrow(world: World, change: Partial<Relay>): void {
  Object.assign(world.relay, change)
  world.calls.length = 0
}

async function registered(world: World, uris: readonly string[]): Promise<string> {
  const body = JSON.stringify({ redirect_uris: uris })
  return String(json(await world.ask('registration', { method: 'POST', body }))['client_id'])
}

/** What a sealed text holds, sealed as an earlier version did. */
const sealed = (world: World, purpose: 'refresh' | 'state', value: Record<string, string>) =>
  world.deps.vaultOf(world.relay).seal(purpose, value)

/** A refresh token of a version that did not note where its login returned to. */
const earlierToken = (world: World, client: string): string =>
  sealed(world, 'refresh', {
    p: 'rt',
    k: hashOfText(client),
    r: world.relay.resource,
    s: 'openid',
  })

interface Begun {
  readonly world: World
  readonly client: string
  /** Brings the provider's answer to the relay. */
  readonly back: (
    change?: Readonly<Record<string, string | undefined>>,
  ) => ReturnType<typeof comeBack>
  /** The relay's code. */
  readonly code: () => Promise<string>
  /** The relay's refresh token. */
  readonly token: () => Promise<unknown>
}

const WIDE: Partial<Relay> = { redirectUris: ['loopback', APP] }

/** A login under way, that returns to uri; options.scope: what it asks for. */
async function begin(
  uri: string,
  options: WorldOptions & { readonly client?: string; readonly scope?: string } = {},
): Promise<Begun> {
  const world = createWorld({ ...options, relay: { ...WIDE, ...options.relay } })
  const client = options.client ?? (await registered(world, [APP, REDIRECT_URI]))
  const browser = new Browser()
  const asked = authorization(client, { redirect_uri: uri, scope: options.scope ?? 'openid' })
  const login = await approve(world, browser, asked)
  const begun: Begun = {
    world,
    client,
    back: (change) => comeBack(world, browser, login, change),
    code: async () => locationOf(await begun.back()).searchParams.get('code') ?? '',
    token: async () =>
      json(await exchange(world, client, await begun.code(), { redirect_uri: uri }))[
        'refresh_token'
      ],
  }
  return begun
}

/** A login by the client of a metadata document. */
const beginByDocument = () =>
  begin(APP, {
    client: DOCUMENT,
    relay: { clientMetadataHosts: ['clients.example'] },
    documents: {
      get: () =>
        Promise.resolve(ok({ id: DOCUMENT, redirectUris: [APP], documentHash: 'of-the-document' })),
    },
  })

describe('a redirect URI that is no longer allowed', () => {
  test.each<[string, Readonly<Record<string, string | undefined>>]>([
    ['a code', {}],
    ['an error', { code: undefined, error: 'access_denied' }],
    ['another iss', { iss: 'https://evil.example' }],
  ])('gets neither a code nor an error when the provider answers with %s', async (_, change) => {
    const { world, back } = await begin(APP)
    narrow(world, { redirectUris: ['loopback'] })
    const reply = await back(change)
    expect([reply.status, reply.headers['location']]).toEqual([400, undefined])
    expect(html(reply)).toContain('no longer allows')
    expect(reply.cookies?.join()).toMatch(/login-[\w-]+=; Path=\/; Max-Age=0/)
  })

  test('gets no token for its code', async () => {
    const { world, client, code } = await begin(APP)
    const good = await code()
    narrow(world, { redirectUris: ['loopback'] })
    const reply = await exchange(world, client, good, { redirect_uri: APP })
    expect([reply.status, json(reply)['error'], world.calls]).toEqual([400, 'invalid_grant', []])
  })

  test('gets no token for its refresh token, though the client has another URI', async () => {
    const { world, client, token } = await begin(APP)
    const good = await token()
    narrow(world, { redirectUris: ['loopback'] })
    const reply = await refresh(world, client, good)
    expect([reply.status, json(reply)['error'], world.calls]).toEqual([400, 'invalid_grant', []])
  })

  test('is remembered by each refresh token in place of another', async () => {
    const { world, client, token } = await begin(APP)
    const second = json(await refresh(world, client, await token()))['refresh_token']
    narrow(world, { redirectUris: ['loopback'] })
    expect(json(await refresh(world, client, second))['error']).toBe('invalid_grant')
  })

  test('of a metadata document gets no token for its refresh token', async () => {
    const { world, client, token } = await beginByDocument()
    const good = await token()
    narrow(world, { redirectUris: ['loopback'] })
    expect(json(await refresh(world, client, good))['error']).toBe('invalid_grant')
    expect(world.calls).toEqual([])
  })

  test('leaves others as they were: loopback at every port', async () => {
    const uri = 'http://127.0.0.1:50123/cb'
    const { world, client, token } = await begin(uri)
    narrow(world, { redirectUris: ['loopback'] })
    const reply = await refresh(world, client, await token())
    expect(json(reply)).toMatchObject({ access_token: ACCESS })
  })
})

describe('a refresh token of an earlier version', () => {
  test.each<[readonly string[], readonly string[]]>([
    [[APP], ['loopback']],
    [[APP, REDIRECT_URI], ['https://other.example/*']],
    [[REDIRECT_URI], ['http://127.0.0.1/other', 'http://localhost/cb']],
  ])('of a client with %j is refused once only %j are allowed', async (uris, redirectUris) => {
    const { world } = await begin(APP)
    const client = await registered(world, uris)
    const token = earlierToken(world, client)
    narrow(world, { redirectUris })
    const reply = await refresh(world, client, token)
    expect([reply.status, json(reply)['error'], world.calls]).toEqual([400, 'invalid_grant', []])
  })

  test.each<[readonly string[], readonly string[]]>([
    [[APP, REDIRECT_URI], ['loopback']],
    [[APP, REDIRECT_URI], [APP]],
    [[REDIRECT_URI], ['http://127.0.0.1:9/cb']],
    [[REDIRECT_URI], ['http://127.0.0.1/*']],
  ])('of a client with %j is good while %j are allowed', async (uris, redirectUris) => {
    const { world } = await begin(APP)
    const client = await registered(world, uris)
    const token = earlierToken(world, client)
    narrow(world, { redirectUris })
    expect(json(await refresh(world, client, token))).toMatchObject({ access_token: ACCESS })
  })

  test('of a metadata document is good while its host is read', async () => {
    const { world } = await beginByDocument()
    const token = earlierToken(world, DOCUMENT)
    expect(json(await refresh(world, DOCUMENT, token))).toMatchObject({ access_token: ACCESS })
    narrow(world, { clientMetadataHosts: [] })
    expect((await refresh(world, DOCUMENT, token)).status).toBe(401)
  })
})

describe('a host of metadata documents that is no longer read', () => {
  test('ends the logins of its clients on a page', async () => {
    const { world, back } = await beginByDocument()
    narrow(world, { clientMetadataHosts: ['other.example'] })
    const reply = await back()
    expect([reply.status, reply.headers['location']]).toEqual([400, undefined])
    expect(html(reply)).toContain('no longer allows')
  })

  test('ends their codes', async () => {
    const { world, client, code } = await beginByDocument()
    const good = await code()
    narrow(world, { clientMetadataHosts: [] })
    const reply = await exchange(world, client, good, { redirect_uri: APP })
    expect([reply.status, json(reply)['error'], world.calls]).toEqual([401, 'invalid_client', []])
  })

  test('ends no login of a registered client', async () => {
    const { world, code } = await begin(APP, {
      relay: { clientMetadataHosts: ['clients.example'] },
    })
    narrow(world, { clientMetadataHosts: [] })
    expect(await code()).not.toBe('')
  })
})

test('a login, a code and a refresh token of a redirect URI that only looks like an allowed one go nowhere', async () => {
  const { world, client } = await begin(APP)
  const odd = APP.replace('//', '/')
  const state = sealed(world, 'state', {
    t: 'id',
    h: hashOfText('cookie'),
    k: hashOfText(client),
    u: odd,
    q: CHALLENGE,
    s: 'openid',
  })
  const reply = await world.ask('callback', {
    query: `code=c&state=${state}&iss=${world.relay.providerIssuer}`,
    cookie: '__Host-gatehouse-login-id=cookie',
  })
  expect([reply.status, reply.headers['location']]).toEqual([400, undefined])
  const grant = { secret: 's', resource: world.relay.resource, clientHash: hashOfText(client) }
  const vault = world.deps.vaultOf(world.relay)
  const more = { ...grant, redirectUri: odd, challenge: CHALLENGE, scopes: 'openid' }
  const code = sealCode(vault, more, world.now)
  for (const answer of [
    await exchange(world, client, code, { redirect_uri: odd }),
    await refresh(world, client, sealRefresh(vault, more)),
  ])
    expect([answer.status, json(answer)['error']]).toEqual([400, 'invalid_grant'])
  expect(world.calls).toEqual([])
})

test('a login that an earlier version has begun goes on', async () => {
  const { world } = await begin(APP)
  const state = sealed(world, 'state', {
    t: 'id',
    h: hashOfText('cookie'),
    k: hashOfText('client'),
    u: APP,
    q: 'challenge',
    s: 'openid',
  })
  const reply = await world.ask('callback', {
    query: `code=c&state=${state}&iss=${world.relay.providerIssuer}`,
    cookie: '__Host-gatehouse-login-id=cookie',
  })
  expect(locationOf(reply).searchParams.has('code')).toBe(true)
})

describe('a scope that is no longer offered', () => {
  const BOTH = { scope: 'files:read openid' }

  test('ends the login with an error for the client', async () => {
    const { world, back } = await begin(APP, BOTH)
    narrow(world, { scopes: ['openid'] })
    const reply = query(locationOf(await back()))
    expect(reply).toMatchObject({ error: 'invalid_scope', state: 'state-of-the-client' })
    expect(reply).not.toHaveProperty('code')
  })

  test('leaves the error of the provider as it is', async () => {
    const { world, back } = await begin(APP, BOTH)
    narrow(world, { scopes: ['openid'] })
    const reply = await back({ code: undefined, error: 'access_denied' })
    expect(query(locationOf(reply))).toMatchObject({ error: 'access_denied' })
  })

  test('is not granted by a code', async () => {
    const { world, client, code } = await begin(APP, BOTH)
    const good = await code()
    narrow(world, { scopes: ['openid'] })
    const reply = await exchange(world, client, good, { redirect_uri: APP })
    expect([reply.status, json(reply)['error'], world.calls]).toEqual([400, 'invalid_grant', []])
  })

  test('is refused to a refresh token that asks for it', async () => {
    const { world, client, token } = await begin(APP, BOTH)
    const good = await token()
    narrow(world, { scopes: ['openid', 'profile'] })
    for (const scope of ['files:read', 'files:read openid', 'profile']) {
      const reply = await refresh(world, client, good, { scope })
      expect([reply.status, json(reply)['error']], scope).toEqual([400, 'invalid_scope'])
    }
    expect(world.calls).toEqual([])
    expect((await refresh(world, client, good, { scope: 'openid' })).status).toBe(200)
  })

  test('is left out where a refresh token asks for none', async () => {
    const { world, client, token } = await begin(APP, BOTH)
    const good = await token()
    narrow(world, { scopes: ['openid', 'profile'] })
    const reply = json(await refresh(world, client, good))
    expect([reply['scope'], sent(world)['scope']]).toEqual(['openid', 'openid'])
    // The user has consented to both: the other one is good again when the policy has it.
    narrow(world, { scopes: ['openid', 'files:read'] })
    await refresh(world, client, reply['refresh_token'], { scope: 'files:read' })
    expect(sent(world)['scope']).toBe('files:read')
  })

  test('ends a refresh token that has no other', async () => {
    const { world, client, token } = await begin(APP, BOTH)
    const good = await token()
    narrow(world, { scopes: ['profile'] })
    const reply = await refresh(world, client, good)
    expect([reply.status, json(reply)['error'], world.calls]).toEqual([400, 'invalid_grant', []])
  })

  test.each<Readonly<Record<string, string>>>([{}, { scope: 'openid' }])(
    'ends a refresh token if the provider grants it all the same (asked: %j)',
    async (asked) => {
      const call = tokens({ refresh_token: 'rt', scope: 'openid files:read email' })
      const { world, client, token } = await begin(APP, { ...BOTH, call })
      const good = await token()
      narrow(world, { scopes: ['openid'] })
      const reply = await refresh(world, client, good, asked)
      expect([reply.status, json(reply)['error']]).toEqual([400, 'invalid_grant'])
      expect(html(reply)).not.toContain(ACCESS)
    },
  )

  test('ends a refresh token if the provider has not granted what is left', async () => {
    const good = tokens({ refresh_token: 'rt' })
    const refused = () => {
      const body = Buffer.from('{"error":"invalid_scope"}')
      return Promise.resolve(ok({ status: 400, headers: {}, body }))
    }
    let call = good
    const { world, client, token } = await begin(APP, { ...BOTH, call: (...args) => call(...args) })
    const own = await token()
    call = refused
    narrow(world, { scopes: ['openid'] })
    // A client that has asked for no scope cannot ask for another one: it must log in.
    expect(json(await refresh(world, client, own))['error']).toBe('invalid_grant')
    const asked = await refresh(world, client, own, { scope: 'openid' })
    expect(json(asked)['error']).toBe('invalid_scope')
  })

  test.each<[string, readonly string[]]>([
    ['where all are still offered', ['files:read', 'openid']],
    ['where the relay declares none', []],
  ])('is none %s: the provider is asked as before', async (_, scopes) => {
    const { world, client, token } = await begin(APP, BOTH)
    const good = await token()
    narrow(world, { scopes })
    expect(json(await refresh(world, client, good))).toMatchObject({ access_token: ACCESS })
    expect(sent(world)).not.toHaveProperty('scope')
    await refresh(world, client, good, { scope: 'files:read' })
    expect(sent(world)['scope']).toBe('files:read')
  })

  test.each<readonly string[][]>([[['files:read', 'openid']], [[]]])(
    'is none in a login and its code while the relay has %j',
    async (scopes) => {
      const { world, client, code } = await begin(APP, BOTH)
      narrow(world, { scopes })
      const reply = await exchange(world, client, await code(), { redirect_uri: APP })
      expect(json(reply)).toMatchObject({ access_token: ACCESS })
    },
  )

  test('is none for a grant without scopes', async () => {
    const { world, client, token } = await begin(APP, { relay: { scopes: [] }, scope: '' })
    const good = await token()
    narrow(world, { scopes: ['openid'] })
    expect(json(await refresh(world, client, good))).toMatchObject({ access_token: ACCESS })
    expect(sent(world)).not.toHaveProperty('scope')
  })
})
