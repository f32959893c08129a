// Attacks on relays through Envoy: what one relay has given out, used at another one of the same key and provider; and
// requests made to lead a browser, a header or the provider's client secret astray.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { REDIRECT_URI } from '../support/clients/client-run.js'
import { ask, type CookieJar, walk } from '../support/clients/consenting-agent.js'
import { send } from '../support/http.js'
import { idpOne, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import {
  authorizationAt,
  exchangeAt,
  logInAt,
  refreshAt,
  registerAt,
  type RelayLogin,
} from '../support/relay-login.js'
import { AS, providerFetched, relayPolicy } from '../support/relay-stack.js'
import { gateway, mcpRoute, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

let server: McpServer
let idp: TestIdp
let stack: Stack
/** The origin of another relay, for another host of the same gateway. */
let other: string

beforeAll(async () => {
  ;[server, idp] = await Promise.all([startMcpServer(), startTestIdp(idpOne, { sendIss: true })])
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', server),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'everything'),
      relayPolicy(idp, `http://127.0.0.1:${String(port)}/mcp`, undefined),
      mcpRoute('other', 'everything', '/mcp', { hostnames: ['localhost'] }),
      named(relayPolicy(idp, `http://localhost:${String(port)}/mcp`, undefined), 'other'),
    ],
  })
  other = `http://localhost:${String(stack.port)}`
  await providerFetched(stack)
  // Both work, so that what follows fails for its own reason.
  for (const origin of [stack.origin, other])
    expect(await exchangeAt(origin, await logInAt(origin))).toHaveProperty('access_token')
})

afterAll(async () => {
  await stack.close()
  await Promise.all([server.close(), idp.close()])
})

/** The policy under another name, on the route of that name. */
const named = (policy: object, name: string): object =>
  JSON.parse(JSON.stringify(policy).replaceAll('"name":"mcp"', `"name":"${name}"`)) as object

/** The requests that the provider's token endpoint gets meanwhile. */
async function tokenCalls(act: () => Promise<void>): Promise<number> {
  const before = idp.requests.length
  await act()
  return idp.requests.slice(before).filter((request) => /^POST .*token/.test(request)).length
}

describe('at another relay', () => {
  let login: RelayLogin

  beforeAll(async () => {
    login = await logInAt(stack.origin)
  })

  test('a client is unknown', async () => {
    const page = await ask(
      authorizationAt(other, login.client, login.verifier),
      undefined,
      new Map(),
    )
    expect([page.status, page.body]).toEqual([400, expect.stringContaining('must register again')])
    expect(await exchangeAt(other, login)).toMatchObject({ error: 'invalid_client' })
  })

  test('a code and a refresh token are none, and the provider is not asked', async () => {
    const { refresh_token: refresh = '' } = await exchangeAt(stack.origin, login)
    const client = await registerAt(other)
    const calls = await tokenCalls(async () => {
      expect(await exchangeAt(other, { ...login, client })).toMatchObject({
        error: 'invalid_grant',
      })
      expect(await refreshAt(other, client, refresh)).toMatchObject({ error: 'invalid_grant' })
    })
    expect(calls).toBe(0)
  })

  test('the answer to a login ends none, with all cookies of the browser', async () => {
    const { cookies, callback } = await untilCallback(stack.origin, login.client)
    const there = new URL(callback.pathname + callback.search, other)
    const answer = await ask(there, undefined, atOther(cookies))
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
    expect((await ask(callback, undefined, cookies)).status).toBe(303)
  })

  test('consent is not given, by form or by cookie', async () => {
    const cookies: CookieJar = new Map()
    await walk(authorizationAt(stack.origin, login.client, login.verifier), { cookies })
    const jar = atOther(cookies)
    const client = await registerAt(other)
    const url = authorizationAt(other, client, login.verifier)
    const here = await ask(
      authorizationAt(stack.origin, login.client, 'x'.repeat(43)),
      undefined,
      new Map(),
    )
    const token = /name="token" value="([^"]+)"/.exec(here.body)?.[1] ?? ''
    expect((await ask(url, undefined, jar)).status).toBe(200)
    const form = new URLSearchParams({ token, decision: 'allow' })
    expect((await ask(url, form, jar)).status).toBe(403)
  })
})

/** The cookies of the first relay, sent to the other. */
const atOther = (cookies: CookieJar): CookieJar =>
  new Map([['localhost', new Map(cookies.get('127.0.0.1'))]])

/** A login up to the callback, which is not requested. */
async function untilCallback(
  origin: string,
  client: string,
): Promise<{ readonly cookies: CookieJar; readonly callback: URL }> {
  const cookies: CookieJar = new Map()
  let url = authorizationAt(origin, client, 'v'.repeat(43))
  let form: URLSearchParams | undefined
  while (!url.pathname.endsWith('/callback')) {
    const { body, headers } = await ask(url, form, cookies)
    const location = headers.get('location')
    const token = /name="token" value="([^"]+)"/.exec(body)?.[1] ?? ''
    form = location === null ? new URLSearchParams({ token, decision: 'allow' }) : undefined
    if (location !== null) url = new URL(location, url)
  }
  return { cookies, callback: url }
}

describe('a redirect URI', () => {
  test.each([
    'http://127.0.0.1:39998@evil.example/callback',
    'http://evil.example\\@127.0.0.1:39998/callback',
    'http://127.0.0.1:39998\\.evil.example/callback',
    'http://127.0.0.1.evil.example:39998/callback',
    'http://[::1%25lo]:39998/callback',
    'http://[::ffff:127.0.0.1]:39998/callback',
    'http://2130706433:39998/callback',
    'http://localhost.:39998/callback',
    'http://ⅼocalhost:39998/callback',
    'https://127.0.0.1:39998/callback',
    '//127.0.0.1:39998/callback',
    'http:127.0.0.1:39998/callback',
    'http:/127.0.0.1:39998/callback',
    'https:/claude.ai/api/mcp/auth_callback',
    'http://127.0.0.1:39998/callback\r\nset-cookie: a=b',
    'javascript:alert(1)//http://127.0.0.1/',
  ])('%j is not registered', async (uri) => {
    const answer = await fetch(`${stack.origin}${AS}/client-registration`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [uri] }),
    })
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ error: 'invalid_redirect_uri' }),
    ])
  })

  test.each([
    `${REDIRECT_URI}/../evil`,
    `${REDIRECT_URI}?next=https://evil.example`,
    `${REDIRECT_URI}#`,
    REDIRECT_URI.replace('/callback', '/%63allback'),
    REDIRECT_URI.replace('127.0.0.1', 'localhost'),
    REDIRECT_URI.replace('http:', 'HTTP:'),
  ])('%j of a registered one goes nowhere', async (uri) => {
    const url = authorizationAt(stack.origin, await registerAt(stack.origin), 'v'.repeat(43), {
      redirect_uri: uri,
    })
    const { status, headers } = await ask(url, undefined, new Map())
    expect([status, headers.get('location')]).toEqual([400, null])
  })
})

const SPLIT = 'a\r\nset-cookie: injected=1\r\n\r\n<script>'

test.each(['state', 'login_hint', 'scope', 'resource', 'prompt', 'code_challenge'])(
  'line breaks in %s make no header of an answer',
  async (name) => {
    const url = authorizationAt(stack.origin, await registerAt(stack.origin), 'v'.repeat(43), {
      prompt: 'none',
      [name]: SPLIT,
    })
    const { status, headers } = await ask(url, undefined, new Map())
    const location = new URL(headers.get('location') ?? url)
    expect([status, headers.getSetCookie(), location.pathname]).toEqual([303, [], '/callback'])
    expect(location.searchParams.get('state')).toBe(
      name === 'state' ? SPLIT : 'state-of-the-client',
    )
  },
)

describe('the consent page at another spelling of its path', () => {
  test.each([
    '/authorize/',
    '/authorize;x',
    '/authorize#x',
    '/%61uthorize',
    '/Authorize',
    '//authorize',
    '/./authorize',
    '/x/../authorize',
    '/x/%2e%2e/authorize',
    '/authorize%2f',
    '\\authorize',
  ])('%s: no page of another origin can read one', async (path) => {
    const url = authorizationAt(stack.origin, await registerAt(stack.origin), 'v'.repeat(43))
    const { body, headers } = await send(stack.origin, AS + path + url.search, {
      headers: { origin: 'https://evil.example' },
    })
    expect(body.includes('name="token"') && 'access-control-allow-origin' in headers).toBe(false)
    expect(headers).not.toHaveProperty('location')
  })

  test.each(['evil.example', 'localhost', '127.0.0.1:1', 'user@127.0.0.1'])(
    'for the host %s makes no other origin a part of it',
    async (host) => {
      const url = authorizationAt(stack.origin, await registerAt(stack.origin), 'v'.repeat(43), {
        prompt: 'none',
      })
      const { headers, body } = await send(stack.origin, url.pathname + url.search, {
        headers: { host },
      })
      expect([body, headers.location ?? ''].join()).not.toContain(host)
    },
  )
})
