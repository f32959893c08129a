// A relay's secrets: after a login, a call and a refresh, none of them is in a log, a report, a dump, or a request to a
// backend.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Backend, startBackend } from '../support/backend.js'
import { bearer, send } from '../support/http.js'
import { jwt, sign } from '../support/protected-stack.js'
import {
  exchangeAt,
  logInAt,
  refreshAt,
  type RelayLogin,
  type Tokens,
} from '../support/relay-login.js'
import { type RelayStack, startRelayStack } from '../support/relay-stack.js'
import { allow, httpRoute, proxyPolicy, rule } from '../support/resources.js'
import { newKey } from '../support/tokens.js'

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY'
const CLIENT_SECRET = 'secret-of-the-relays-client'

const key = await newKey('k1')

let backend: Backend
let world: RelayStack
let login: RelayLogin
let tokens: Tokens

beforeAll(async () => {
  backend = await startBackend()
  world = await startRelayStack({
    backend,
    flags: ['--log-level', 'trace', '--decision-log', 'all'],
    relay: { keyRef: [{ name: 'relay-key' }] },
    more: [
      secret('relay-key', KEY),
      // Named by a policy of another route, where nobody logs in.
      secret('idp-client', CLIENT_SECRET),
      ...otherRoutes(),
    ],
  })
  const { origin } = world.stack
  login = await logInAt(origin)
  tokens = await exchangeAt(origin, login)
  await refreshAt(origin, login.client, tokens.refresh_token ?? '')
  await send(origin, '/mcp', {
    method: 'POST',
    headers: { ...bearer(tokens.access_token ?? ''), cookie: `a=b; ${cookies()}; c=d` },
    body: '{}',
  })
})

afterAll(async () => {
  await world.close()
  await backend.close()
})

/** Routes of the same host that relay nothing: browsers send them the relay's cookies as well. */
const otherRoutes = (): readonly object[] => [
  ...['plain', 'optional', 'rules'].map((name) =>
    httpRoute(name, { rules: [rule(`/${name}`, 'everything')] }),
  ),
  proxyPolicy('plain', 'plain', { jwtAuthentication: jwt([key]) }),
  proxyPolicy('optional', 'optional', { jwtAuthentication: jwt([key], { mode: 'Optional' }) }),
  proxyPolicy('rules', 'rules', { authorization: allow('request.method == "GET"') }),
]

const secret = (name: string, value: string): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { key: value },
})

/** Returns the cookies of the gateway, with one of a login in progress. */
function cookies(): string {
  const all = [...(login.cookies.get('127.0.0.1') ?? [])].filter(([name]) =>
    name.startsWith('gatehouse-'),
  )
  const set = login.steps
    .flatMap(({ headers }) => headers.getSetCookie())
    .filter((cookie) => cookie.startsWith('gatehouse-login-') && !cookie.includes('=;'))
    .map((cookie) => cookie.split(';')[0] ?? '')
  return [...all.map(([name, value]) => `${name}=${value}`), ...set].join('; ')
}

/** Everything that an attacker could use. */
function secrets(): readonly string[] {
  const parameters = login.steps.flatMap(({ url, headers }) => {
    const location = headers.get('location')
    const { searchParams } = new URL(location ?? '', url)
    return ['code', 'state'].flatMap((name) => searchParams.get(name) ?? [])
  })
  return [
    ...parameters.filter((text) => text !== 'state-of-the-client'),
    ...cookies()
      .split('; ')
      .map((cookie) => cookie.split('=')[1] ?? ''),
    login.code,
    login.verifier,
    login.client.split('.')[2] ?? '',
    tokens.access_token ?? '',
    tokens.refresh_token ?? '',
    KEY,
    Buffer.from(KEY, 'base64url').toString(),
    CLIENT_SECRET,
  ]
}

test('the login went through', () => {
  expect(tokens).toMatchObject({ access_token: expect.any(String) as string })
  expect(secrets().length).toBeGreaterThan(12)
  expect(secrets().filter((text) => text.length < 16)).toEqual([])
  expect(
    cookies()
      .split('; ')
      .map((cookie) => cookie.split('-')[1]),
  ).toEqual(expect.arrayContaining(['login', expect.stringMatching(/^browser/), 'consent']))
})

const found = (text: string): readonly string[] => secrets().filter((one) => text.includes(one))

test('nothing of it is in the log', () => {
  expect(world.stack.log()).not.toBe('')
  expect(found(world.stack.log())).toEqual([])
})

test.each(['/status', '/config_dump', '/metrics', '/'])('nothing of it is at %s', async (path) => {
  const answer = await fetch(world.stack.admin + path)
  expect(answer.status).toBe(200)
  expect(found(await answer.text())).toEqual([])
})

test("nothing of it is in Envoy's configuration", async () => {
  expect(found(await (await fetch(`${world.stack.envoyAdmin}/config_dump`)).text())).toEqual([])
})

test('nothing of it reaches the backend, and cookies of others do', () => {
  const [request] = backend.requests
  expect(request?.url).toBe('/mcp')
  expect(found(JSON.stringify(request))).toEqual([])
  expect(request?.headers['cookie']).toBe('a=b; c=d')
})

test.each(['/plain', '/optional', '/rules'])(
  'no cookie of it reaches the backend of %s, a route beside it that a check protects',
  async (path) => {
    const token = path === '/plain' ? bearer(await sign(key)) : {}
    const answer = await send(world.stack.origin, path, {
      headers: { ...token, cookie: `a=b; ${cookies()}; c=d` },
    })
    expect(answer.status).toBe(200)
    const request = backend.requests.find(({ url }) => url === path)
    expect(request?.headers['cookie']).toBe('a=b; c=d')
  },
)
