// The authorization endpoint and the callback of a relay, request by request: without the user's consent in the same
// browser, no login reaches the provider and no answer of the provider reaches a client.

import { describe, expect, test } from 'vitest'
import type { RelayRequest } from '../../../../src/addons/relay/extproc/relay-request.js'
import { ok } from '../../../../src/kit/result.js'
import {
  approve,
  AS,
  authorization,
  Browser,
  BROWSER_HEADERS,
  CHALLENGE,
  comeBack,
  createWorld,
  FORM,
  form,
  html,
  locationOf,
  ORIGIN,
  query,
  REDIRECT_URI,
  register,
  tokenOf,
} from './support.js'

describe('a login', () => {
  test('leads from the page to the provider and back to the client', async () => {
    const world = createWorld({ relay: { authorizationParameters: [['audience', 'api']] } })
    const browser = new Browser()
    const client = await register(world)
    const asked = authorization(client, { login_hint: 'alice', prompt: 'login' })
    const login = await approve(world, browser, asked)
    expect([login.status, locationOf(login).origin]).toEqual([303, 'https://idp.example'])
    const { state = '', ...sent } = query(locationOf(login))
    expect(sent).toEqual({
      response_type: 'code',
      client_id: 'registered',
      redirect_uri: `${ORIGIN}${AS}/callback`,
      scope: 'openid',
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
      resource: world.relay.resource,
      prompt: 'login',
      login_hint: 'alice',
      audience: 'api',
    })
    expect(state).not.toContain('state-of-the-client')
    const back = await comeBack(world, browser, login)
    const { code = '', ...rest } = query(locationOf(back))
    expect([back.status, locationOf(back).origin, rest]).toEqual([
      303,
      new URL(REDIRECT_URI).origin,
      { state: 'state-of-the-client', iss: world.relay.issuer },
    ])
    expect(code).not.toContain('code-of-the-provider')
  })

  test('sends no resource where the provider does not know it', async () => {
    const world = createWorld({ relay: { sendsResource: false } })
    const login = await approve(world, new Browser(), authorization(await register(world)))
    expect(locationOf(login).searchParams.has('resource')).toBe(false)
  })

  test('has a cookie for itself, set when it is approved and deleted when it is over', async () => {
    const world = createWorld()
    const browser = new Browser()
    const asked = authorization(await register(world))
    const page = await world.ask('authorize', { query: asked })
    expect(page.cookies?.join()).not.toContain('login-')
    const login = await approve(world, browser, asked)
    const cookie = login.cookies?.find((one) => one.includes('login-')) ?? ''
    expect(cookie).toMatch(
      /^__Host-gatehouse-login-[\w-]{16}=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
    )
    const back = await comeBack(world, browser, login)
    expect(back.cookies).toEqual([
      `${cookie.split('=')[0] ?? ''}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure`,
    ])
  })

  test('is over once the browser has come back', async () => {
    const world = createWorld()
    const browser = new Browser()
    const login = await approve(world, browser, authorization(await register(world)))
    await comeBack(world, browser, login)
    expect((await comeBack(world, browser, login)).status).toBe(400)
  })

  test('is over after ten minutes', async () => {
    const world = createWorld()
    const browser = new Browser()
    const login = await approve(world, browser, authorization(await register(world)))
    world.now += 600_000
    expect((await comeBack(world, browser, login)).status).toBe(400)
  })

  test('ends in no other browser', async () => {
    const world = createWorld()
    const login = await approve(world, new Browser(), authorization(await register(world)))
    const other = new Browser()
    await approve(world, other, authorization(await register(world)))
    const back = await comeBack(world, other, login)
    expect([back.status, back.headers['location']]).toEqual([400, undefined])
  })
})

describe('the page', () => {
  test('shows who asks for what, as text', async () => {
    const world = createWorld()
    const body = JSON.stringify({ client_name: '<b>"\u202eEvil', redirect_uris: [REDIRECT_URI] })
    const { client_id: client = '' } = JSON.parse(
      html(await world.ask('registration', { method: 'POST', body })),
    ) as { client_id?: string }
    const page = await world.ask('authorize', { query: authorization(client) })
    expect(page.headers).toMatchObject(BROWSER_HEADERS)
    expect(html(page)).toContain('<strong><bdi>&#60;b&#62;&#34;Evil</bdi></strong>')
    expect(html(page)).toContain('127.0.0.1:4711')
    expect(html(page)).toContain('<li>openid</li>')
    expect(html(page)).toContain('Any program on this computer can pretend')
    expect(html(page)).not.toMatch(/<script|style=|<img|src=/)
  })

  test('a denial is sent to the client', async () => {
    const world = createWorld()
    const asked = authorization(await register(world))
    const page = await world.ask('authorize', { query: asked })
    const browser = new Browser()
    browser.keep(page)
    const reply = await world.ask('authorize', {
      query: asked,
      method: 'POST',
      origin: ORIGIN,
      contentType: FORM,
      cookie: browser.cookie,
      body: form({ token: tokenOf(page), decision: 'deny' }),
    })
    expect(query(locationOf(reply))).toMatchObject({
      error: 'access_denied',
      state: 'state-of-the-client',
      iss: world.relay.issuer,
    })
    expect(reply.cookies).toEqual([])
  })

  /** The answer to an approval that differs from a good one. */
  async function approveOtherwise(change: {
    readonly request?: Partial<RelayRequest>
    readonly query?: (client: string) => string
    readonly body?: string
    readonly later?: number
  }) {
    const world = createWorld()
    const client = await register(world)
    const asked = authorization(client)
    const page = await world.ask('authorize', { query: asked })
    const browser = new Browser()
    browser.keep(page)
    world.now += change.later ?? 0
    return world.ask('authorize', {
      method: 'POST',
      origin: ORIGIN,
      contentType: FORM,
      cookie: browser.cookie,
      ...change.request,
      query: change.query?.(client) ?? asked,
      body: change.body ?? form({ token: tokenOf(page), decision: 'allow' }),
    })
  }

  test('is approved as it is', async () => {
    expect((await approveOtherwise({})).status).toBe(303)
  })

  test.each<[string, Parameters<typeof approveOtherwise>[0]]>([
    ['from another origin', { request: { origin: 'https://evil.example' } }],
    ['from no origin that is said', { request: { origin: undefined } }],
    ['from a page that hides where it is', { request: { origin: 'null' } }],
    ['in a frame, or by a script', { request: { isInPage: true } }],
    ['without the cookie of the browser', { request: { cookie: '' } }],
    [
      'with the cookie of another browser',
      { request: { cookie: `__Host-gatehouse-browser=${'x'.repeat(43)}` } },
    ],
    ['by JSON', { request: { contentType: 'application/json' } }],
    ['for another state', { query: (client) => authorization(client, { state: 'other' }) }],
    [
      'for wider scopes',
      { query: (client) => authorization(client, { scope: 'openid files:read' }) },
    ],
    ['without a token', { body: 'decision=allow' }],
    ['with two tokens', { body: 'token=a&token=b&decision=allow' }],
    ['after ten minutes', { later: 600_000 }],
  ])('is not approved %s', async (_, change) => {
    const reply = await approveOtherwise(change)
    expect([reply.status, reply.headers['location']]).toEqual([403, undefined])
    expect(reply.headers).toMatchObject(BROWSER_HEADERS)
    expect((reply.cookies ?? []).join()).not.toContain('login-')
  })
})

/** Changes that are possible between the page and its form. */
interface Shown {
  documentHash: string
  scopes: readonly string[]
}

describe('consent', () => {
  async function consented() {
    const world = createWorld({ relay: { redirectUris: ['loopback'] } })
    const browser = new Browser()
    const client = await register(world)
    await approve(world, browser, authorization(client, { scope: 'openid files:read' }))
    const asks = async (change: Readonly<Record<string, string | undefined>>, own = client) =>
      (await world.ask('authorize', { query: authorization(own, change), cookie: browser.cookie }))
        .status
    return { world, asks }
  }

  test('is remembered for 30 days, for no more than was shown', async () => {
    const { world, asks } = await consented()
    expect(await asks({ state: 'another' })).toBe(303)
    expect(await asks({ scope: 'openid files:read' })).toBe(303)
    expect(await asks({ prompt: 'none' })).toBe(303)
    expect(await asks({ scope: 'openid offline_access' })).toBe(200)
    expect(await asks({ prompt: 'consent' })).toBe(200)
    expect(await asks({ redirect_uri: 'http://127.0.0.1:4712/cb' })).toBe(200)
    world.now += 1000
    expect(await asks({}, await register(world))).toBe(200)
  })

  test('is forgotten after 30 days', async () => {
    const world = createWorld({ relay: { clientLifetimeMs: 90 * 86_400_000 } })
    const browser = new Browser()
    const client = await register(world)
    await approve(world, browser, authorization(client))
    const asks = async () =>
      (await world.ask('authorize', { query: authorization(client), cookie: browser.cookie }))
        .status
    world.now += 30 * 86_400_000 - 1000
    expect(await asks()).toBe(303)
    world.now += 2000
    expect(await asks()).toBe(200)
  })

  test('that was not given is an error where no page may be shown', async () => {
    const world = createWorld()
    const reply = await world.ask('authorize', {
      query: authorization(await register(world), { prompt: 'none' }),
    })
    expect(query(locationOf(reply))).toMatchObject({ error: 'interaction_required' })
  })

  test('of many clients fits into a cookie', async () => {
    const world = createWorld()
    const browser = new Browser()
    for (let at = 0; at < 60; at += 1) {
      world.now += 1000
      await approve(world, browser, authorization(await register(world)))
    }
    const cookies = browser.cookie.split('; ').filter((one) => one.includes('consent-'))
    expect(cookies).toHaveLength(1)
    expect(cookies[0]?.length).toBeLessThan(4096)
  })

  test.each<[string, (shown: Shown) => void]>([
    ['another version of the metadata document', (shown) => (shown.documentHash = 'two')],
    ['scopes that the policy has added', (shown) => (shown.scopes = ['files:read', 'openid'])],
  ])('is not given by the form for %s', async (_, change) => {
    const url = 'https://clients.example/a.json'
    const shown: Shown = { documentHash: 'one', scopes: ['openid'] }
    const world = createWorld({
      relay: {
        clientMetadataHosts: ['clients.example'],
      },
      documents: {
        get: () =>
          Promise.resolve(
            ok({ id: url, redirectUris: [REDIRECT_URI], documentHash: shown.documentHash }),
          ),
      },
    })
    Object.defineProperty(world.relay, 'scopes', { get: () => shown.scopes })
    const asked = authorization(url, { scope: undefined })
    const browser = new Browser()
    const page = await world.ask('authorize', { query: asked })
    browser.keep(page)
    const send = () =>
      world.ask('authorize', {
        query: asked,
        method: 'POST',
        origin: ORIGIN,
        contentType: FORM,
        cookie: browser.cookie,
        body: form({ token: tokenOf(page), decision: 'allow' }),
      })
    expect((await send()).status).toBe(303)
    change(shown)
    expect((await send()).status).toBe(403)
  })

  test('for a metadata document is for this version of it', async () => {
    const url = 'https://clients.example/a.json'
    let documentHash = 'one'
    const world = createWorld({
      relay: { clientMetadataHosts: ['clients.example'] },
      documents: {
        get: () => Promise.resolve(ok({ id: url, redirectUris: [REDIRECT_URI], documentHash })),
      },
    })
    const browser = new Browser()
    await approve(world, browser, authorization(url))
    const asks = async () =>
      (await world.ask('authorize', { query: authorization(url), cookie: browser.cookie })).status
    expect(await asks()).toBe(303)
    documentHash = 'two'
    expect(await asks()).toBe(200)
  })
})
