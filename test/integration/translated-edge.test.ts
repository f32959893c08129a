// What `envoy --mode validate` cannot show: which requests are allowed, what is sanitised and how CORS works, with
// nothing behind ext_authz.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Route } from '../../src/model/route.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { chain, destination, forward, ir, route } from '../support/ir.js'
import { sendRaw } from '../support/raw-http.js'
import { startTranslated, type TranslatedEnvoy } from '../support/translated-envoy.js'

let open: Backend
let guarded: Backend
let port: number
let origin: string
let envoy: TranslatedEnvoy

const APP = 'https://app.example'

const cors = {
  allowOrigins: [APP, 'https://*.wild.example'],
  allowMethods: ['*'],
  allowHeaders: ['Authorization', 'Mcp-Session-Id'],
  exposeHeaders: ['WWW-Authenticate'],
  allowCredentials: true,
  maxAge: 600,
}

const routes: readonly Route[] = [
  route('/mcp', forward('guarded', { replaceBackendCors: true }), { authz: 'default/mcp/0', cors }),
  route('/documents', { type: 'answered' }, { proc: { key: 'k', mode: 'well-known' }, cors }),
  route('/llm', forward('guarded'), { proc: { key: 'k', mode: 'guard' } }),
  route('/answered', { type: 'answered' }, { cors }),
  route('/refused', { type: 'refuse', status: 503, body: 'broken' }, { cors }),
  route('/invalid', { type: 'refuse', status: 500, body: '100 % broken\n%REQ(x)%' }, { cors }),
  route('/cors', forward('open', { replaceBackendCors: true }), { cors }),
  route('/as-it-is', forward('open')),
  route('/any', forward('open'), { cors: { ...cors, allowOrigins: ['*'], allowHeaders: ['*'] } }),
  route('/upgrade', forward('open', { allowUpgrades: true })),
  route('/', forward('open')),
]

beforeAll(async () => {
  ;[open, guarded, port] = await Promise.all([
    startBackend('open'),
    startBackend('guarded'),
    freePort(),
  ])
  origin = `http://127.0.0.1:${String(port)}`
  open.answer((_, response) => {
    response.setHeader('access-control-allow-origin', ['https://evil.example', '*'])
    response.setHeader('access-control-allow-methods', 'GET').end('open')
  })
  envoy = await startTranslated(
    ir({
      port,
      chains: [chain(`default/gw/${String(port)}`, routes)],
      destinations: [destination('guarded', guarded.port), destination('open', open.port)],
    }),
  )
})

afterAll(async () => {
  await envoy.close()
  await Promise.all([open.close(), guarded.close()])
  expect(guarded.requests).toEqual([])
})

describe('with Gatehouse away', () => {
  test.each(['/mcp', '/mcp/x', '/mcp?x=/open', '/documents', '/llm'])(
    '%s is refused with 503',
    async (path) => {
      expect((await send(origin, path, { method: 'POST', body: '{}' })).status).toBe(503)
    },
  )

  test('the refusal has CORS headers, and a preflight is answered all the same', async () => {
    const answer = await send(origin, '/mcp', { headers: { origin: APP } })
    expect(answer.headers['access-control-allow-origin']).toBe(APP)
    const headers = { origin: APP, 'access-control-request-method': 'POST' }
    expect((await send(origin, '/mcp', { method: 'OPTIONS', headers })).status).toBe(200)
  })

  test('a route that ext_proc should answer and a route that refuses are 503', async () => {
    expect((await send(origin, '/answered')).status).toBe(503)
    expect(await send(origin, '/refused')).toMatchObject({ status: 503, body: 'broken' })
  })
})

describe('a route that refuses', () => {
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: APP, 'access-control-request-method': 'POST' },
  }

  test.each([
    ['/refused', 503, 'broken'],
    ['/invalid', 500, '100 % broken %REQ(x)%'],
  ])('%s can be read by a page of another origin', async (path, status, body) => {
    for (const method of ['GET', 'POST']) {
      const answer = await send(origin, path, { method, headers: { origin: APP } })
      expect(answer).toMatchObject({ status, body })
      expect(answer.headers['access-control-allow-origin']).toBe(APP)
      expect(answer.headers['access-control-expose-headers']).toBe('WWW-Authenticate')
    }
    expect((await send(origin, path, preflight)).status).toBe(200)
    const stranger = await send(origin, path, { headers: { origin: 'https://evil.example' } })
    expect(stranger.status).toBe(status)
    expect(stranger.headers['access-control-allow-origin']).toBeUndefined()
  })

  test.each(['500', '503'])('cannot be asked for: x-gatehouse-refused-%s', async (status) => {
    const headers = { [`x-gatehouse-refused-${status}`]: 'mine' }
    expect(await send(origin, '/', { headers })).toMatchObject({ status: 200 })
    expect(await send(origin, '/answered', { headers })).toMatchObject({ status: 503 })
    expect((await send(origin, '/answered', { headers })).body).not.toContain('mine')
  })
})

describe('paths', () => {
  test.each([
    '//mcp',
    '/./mcp',
    '/mcp/.',
    '/x/../mcp',
    '/%6dcp',
    '/x/..;/mcp',
    '/x;a/../mcp',
    '/x/%2e%2e/mcp',
    '/;a=b/../mcp',
  ])('%s is not let around the protected route', async (path) => {
    expect((await send(origin, path)).status).toBe(503)
  })

  test.each([
    '/mcp%2f..',
    '/mcp%2Fx',
    '/mcp%5cx',
    '/mcp/..%2fx',
    '/mcp%00',
    '/mcp#x',
    '/mcp;a=b',
    '/x;a/mcp',
    '/;a/mcp',
    '/mcp/x;a',
  ])('%s is a bad request', async (path) => {
    expect((await send(origin, path)).status).toBe(400)
  })

  test.each([
    ['/mcpfoo', '/mcpfoo'],
    ['/mcp/../x', '/x'],
    ['/mcp/..;/x', '/x'],
    ['/mcp;/../x', '/x'],
    ['/MCP', '/MCP'],
    ['/x?a=;b', '/x?a=;b'],
  ])('%s is another path: %s', async (path, seen) => {
    expect((await send(origin, path)).status).toBe(200)
    expect(open.requests.at(-1)?.url).toBe(seen)
  })
})

describe('what is cleaned away', () => {
  test("headers that only Gatehouse or Envoy may set do not reach a backend, whatever the client's address", async () => {
    const names = [
      'x-gatehouse-route',
      'X-Gatehouse-Anything',
      'x-envoy-original-path',
      'x-envoy-auth-partial-body',
      'x-envoy-retry-on',
      'x-envoy-upstream-rq-timeout-ms',
      'x-envoy-internal',
    ]
    await send(origin, '/x', { headers: Object.fromEntries(names.map((name) => [name, '1'])) })
    const seen = Object.keys(open.requests.at(-1)?.headers ?? {})
    expect(seen.filter((name) => /^x-(gatehouse|envoy-(?!external))/.test(name))).toEqual([])
  })

  test('X-Forwarded-Proto of a client that is no trusted hop is replaced', async () => {
    await send(origin, '/x', { headers: { 'x-forwarded-proto': 'https' } })
    expect(open.requests.at(-1)?.headers['x-forwarded-proto']).toBe('http')
  })

  test('a header name with an underscore is a bad request', async () => {
    expect((await send(origin, '/x', { headers: { x_y: '1' } })).status).toBe(400)
  })

  test('CONNECT is refused', async () => {
    const answer = await sendRaw(port, 'CONNECT a.example:443 HTTP/1.1\r\nhost: a.example\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 (400|403|404) /)
  })

  test.each(['/x', '/mcp'])(
    'an upgrade on %s, which does not allow it, is refused',
    async (path) => {
      const upgrade = 'connection: upgrade, close\r\nupgrade: websocket'
      const request = `GET ${path} HTTP/1.1\r\nhost: a.example\r\n${upgrade}\r\n\r\n`
      expect(await sendRaw(port, request)).toMatch(/^HTTP\/1\.1 426 /)
    },
  )
})

describe('CORS', () => {
  const allowed = (answer: { readonly headers: object }) =>
    (answer.headers as Record<string, unknown>)['access-control-allow-origin']

  test.each([
    ['/cors', APP, APP],
    ['/cors', 'https://x.y.wild.example', 'https://x.y.wild.example'],
    ['/cors', 'https://wild.example', undefined],
    ['/cors', 'https://x.wild.example.evil.example', undefined],
    ['/cors', 'https://evil.example', undefined],
    ['/any', 'https://evil.example', 'https://evil.example'],
  ])('%s allows %s: %s', async (path, requested, wanted) => {
    expect(allowed(await send(origin, path, { headers: { origin: requested } }))).toBe(wanted)
  })

  test("the backend's own headers are replaced if the route has CORS, and kept otherwise", async () => {
    const { headers } = await send(origin, '/cors', { headers: { origin: APP } })
    expect(headers['access-control-allow-methods']).toBeUndefined()
    expect(headers['access-control-expose-headers']).toBe('WWW-Authenticate')
    expect(headers['access-control-allow-credentials']).toBe('true')
    const asItIs = await send(origin, '/as-it-is', { headers: { origin: APP } })
    expect(allowed(asItIs)).toContain('https://evil.example')
  })

  const preflight = (from: string, path = '/cors') =>
    send(origin, path, {
      method: 'OPTIONS',
      headers: {
        origin: from,
        'access-control-request-method': 'DELETE',
        'access-control-request-headers': 'x-mine',
      },
    })

  test('a preflight is answered without the backend, and lists what may be sent', async () => {
    const before = open.requests.length
    const { status, headers } = await preflight(APP)
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'DELETE',
      'access-control-allow-headers': 'Authorization, Mcp-Session-Id',
      'access-control-max-age': '600',
    })
    const { headers: any } = await preflight(APP, '/any')
    expect(any['access-control-allow-headers']).toBe('x-mine')
    expect(open.requests.length).toBe(before)
  })

  test('a preflight of another origin allows nothing, and does not reach the backend', async () => {
    const before = open.requests.length
    expect(allowed(await preflight('https://evil.example'))).toBeUndefined()
    expect(open.requests.length).toBe(before)
  })
})
