// Headers that lie about the host, the scheme, the client or the path are not trusted; and the places where a token is
// not accepted.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { bearer, initialize, send } from '../support/http.js'
import { rawRequest } from '../support/raw-request.js'
import { startTrap, type Trap } from '../support/trap.js'

let trap: Trap
let trusting: Trap

beforeAll(async () => {
  ;[trap, trusting] = await Promise.all([
    startTrap('--log-level', 'debug'),
    startTrap('--trusted-hops', '1'),
  ])
})
afterAll(async () => {
  await trap.close()
  await trusting.close()
})
afterEach(() => trap.forget())

describe('a request for more than one host', () => {
  const hosts = ['Host: gateway.example', 'Host: evil.example']

  test.each([
    ['two Host headers', '/open', hosts],
    ['the same Host header twice', '/open', ['Host: gateway.example', 'Host: gateway.example']],
    ['one that names two hosts', '/open', ['Host: gateway.example,evil.example']],
    ['two for a protected route', '/mcp', hosts],
    ['two for an OAuth document', '/.well-known/oauth-protected-resource/mcp', hosts],
  ])('%s: 400, before any backend (RFC 9112, section 3.2)', async (_, path, lines) => {
    const { status } = await rawRequest(trap.stack.origin, `GET ${path} HTTP/1.1`, ...lines)
    expect(status).toBe(400)
    expect(trap.reached()).toEqual([])
  })

  test('one whose host names a port passes', async () => {
    const { status } = await rawRequest(
      trap.stack.origin,
      'GET /open HTTP/1.1',
      'Host: gateway.example:8080',
    )
    expect([status, trap.reached().length]).toEqual([200, 1])
  })
})

describe('the Host header', () => {
  const challengeFor = async (
    host: string,
  ): Promise<{ status: number; challenge: string | undefined }> => {
    const { status, head } = await rawRequest(
      trap.stack.origin,
      'GET /mcp HTTP/1.1',
      `Host: ${host}`,
    )
    return { status, challenge: /^www-authenticate: (.*)$/im.exec(head)?.[1] }
  }
  const HERE = '/.well-known/oauth-protected-resource/mcp'

  test.each([
    'gateway.example',
    'gateway.example:8443',
    '127.0.0.1:80',
    '[::1]:8080',
    'GATEWAY.example',
  ])('%s is where the challenge leads', async (host) => {
    const { status, challenge } = await challengeFor(host)
    expect([status, challenge]).toEqual([401, `Bearer resource_metadata="http://${host}${HERE}"`])
  })

  test.each([
    'evil.example", error="x',
    'a"b',
    'a b',
    'user@evil.example',
    'user:pass@evil.example',
    'a:99999',
    'a:b',
    'a/b',
    'a?b',
    'a#b',
    'a\\b',
    'a,b',
    "a'b",
    '<script>',
    'a%22b',
    '[::1',
    '::1',
    '..',
    '-',
    '',
    '\u00e9',
    'a;b',
    `${'a'.repeat(300)}.example`,
  ])('%j is never repeated', async (host) => {
    const { status, challenge } = await challengeFor(host)
    expect([400, 401]).toContain(status)
    if (status === 401) expect(challenge).toBe('Bearer')
    const { status: metadata, head } = await rawRequest(
      trap.stack.origin,
      `GET ${HERE} HTTP/1.1`,
      `Host: ${host}`,
    )
    expect(metadata).toBe(400)
    expect(head).not.toContain('evil')
    expect(trap.reached()).toEqual([])
  })

  test('X-Forwarded-Host and its kin change nothing', async () => {
    const spoofed = [
      'X-Forwarded-Host: evil.example',
      'X-Original-Host: evil.example',
      'Forwarded: host=evil.example;proto=https',
      'X-Forwarded-Port: 1',
      'X-Forwarded-Prefix: /evil',
      'X-Rewrite-URL: /open',
      'X-Original-URL: /open',
      'X-HTTP-Method-Override: OPTIONS',
      'X-Envoy-Original-Path: /open',
      'X-Envoy-Original-Host: evil.example',
    ]
    const { status, head } = await trap.get('/mcp', ...spoofed)
    expect(status).toBe(401)
    expect(head).toContain(`resource_metadata="http://gateway.example${HERE}"`)
    const answer = await send(trap.stack.origin, HERE, {
      headers: { host: 'gateway.example', 'x-forwarded-host': 'evil.example' },
    })
    expect(JSON.parse(answer.body)).toMatchObject({
      authorization_servers: ['http://gateway.example/mcp'],
    })
  })

  test('X-Forwarded-Proto counts only behind a trusted proxy', async () => {
    for (const [{ origin }, scheme] of [
      [trap.stack, 'http'],
      [trusting.stack, 'https'],
    ] as const) {
      const headers = {
        host: 'gateway.example',
        'x-forwarded-proto': 'https',
        'x-forwarded-for': '192.0.2.1',
      }
      const answer = await send(origin, '/mcp', { headers })
      expect(answer.headers['www-authenticate']).toBe(
        `Bearer resource_metadata="${scheme}://gateway.example${HERE}"`,
      )
    }
    for (const proto of ['javascript', 'https://evil.example/?', 'https"', 'gopher,https']) {
      const headers = { host: 'gateway.example', 'x-forwarded-proto': proto }
      const answer = await send(trusting.stack.origin, '/mcp', { headers })
      expect(answer.headers['www-authenticate'] ?? '').not.toMatch(/javascript|evil|gopher/)
    }
  })

  test('X-Forwarded-For of a client is not what the backend takes for the client', async () => {
    await trap.get('/open', 'X-Forwarded-For: 203.0.113.9')
    const [seen] = trap
      .reached()
      .map(({ headers }) => String(headers['x-forwarded-for']).split(/, ?/))
    expect(seen?.at(-1)).not.toBe('203.0.113.9')
    expect(seen).toHaveLength(2)
  })
})

describe('headers of a client', () => {
  const FORGED = [
    'X-Gatehouse-Route: default/open',
    'x-gatehouse-unresolved: 1',
    'X-Gatehouse-Claims: {"sub":"root"}',
    'X-Envoy-Original-Path: /mcp',
    'X-Envoy-Original-Host: evil',
    'X-Envoy-Auth-Partial-Body: true',
  ]

  test('of Gatehouse or Envoy itself reach no backend', async () => {
    expect((await trap.get('/mcp', ...FORGED)).status).toBe(401)
    expect((await trap.get('/mcp', ...FORGED, `Authorization: Bearer ${trap.token}`)).status).toBe(
      200,
    )
    expect((await trap.get('/open', ...FORGED)).status).toBe(200)
    const names = trap.reached().flatMap(({ headers }) => Object.keys(headers))
    expect(trap.reached()).toHaveLength(2)
    expect(names.filter((name) => /^x-gatehouse|^x-envoy-(original|auth)/.test(name))).toEqual([])
  })

  test('do not steer Envoy', async () => {
    trap.backend.answer((_request, response) => void setTimeout(() => response.end('late'), 60))
    const answer = await send(trap.stack.origin, '/open', {
      headers: {
        'x-envoy-upstream-rq-timeout-ms': '1',
        'x-envoy-upstream-rq-per-try-timeout-ms': '1',
        'x-envoy-retry-on': '5xx',
        'x-envoy-max-retries': '9',
        'x-envoy-force-trace': 'true',
      },
    })
    expect([answer.status, answer.body]).toEqual([200, 'late'])
    trap.backend.answer((_request, response) => void response.writeHead(503).end())
    const failed = await send(trap.stack.origin, '/open', {
      headers: { 'x-envoy-retry-on': '5xx', 'x-envoy-max-retries': '3' },
    })
    expect(failed.status).toBe(503)
    expect(trap.reached()).toHaveLength(2)
    trap.backend.answer((_request, response) => void response.end('backend'))
  })

  test.each(['X_Gatehouse_Route: x', 'authorization_: x', 'x_real_ip: 1'])(
    'with an underscore are refused: %s',
    async (line) => {
      expect((await trap.get('/mcp', line)).status).toBe(400)
      expect((await trap.get('/open', line)).status).toBe(400)
      expect(trap.reached()).toEqual([])
    },
  )

  test.each(['x-a: \x00', 'x-a: \x01', 'x\x00a: b', ': b', 'x a: b', 'x-a: \r b'])(
    'with forbidden bytes are refused: %j',
    async (line) => {
      expect((await trap.get('/mcp', line)).status).not.toBe(200)
      expect(trap.reached()).toEqual([])
    },
  )

  test('that ask for a preflight get one only as a browser asks', async () => {
    const options = (...lines: readonly string[]) =>
      rawRequest(trap.stack.origin, 'OPTIONS /mcp HTTP/1.1', 'Host: gateway.example', ...lines)
    expect((await options()).status).toBe(401)
    expect((await options('Origin: https://app.example')).status).toBe(401)
    expect((await options('Access-Control-Request-Method: POST')).status).toBe(401)
    expect(
      (await options('Origin: https://app.example', 'Access-Control-Request-Method: POST')).status,
    ).toBe(200)
    expect(trap.reached()).toEqual([])
  })
})

describe('a token', () => {
  test('is found nowhere, nor are its claims but for the sub of a refusal: not at the backend, in the log at debug level, the metrics, the status or the dump', async () => {
    const bad = `${trap.token.slice(0, -6)}AAAAAA`
    const refused = await send(trap.stack.origin, '/mcp', { ...initialize, headers: bearer(bad) })
    const passed = await send(trap.stack.origin, '/mcp', {
      ...initialize,
      headers: bearer(trap.token),
    })
    expect([refused.status, passed.status]).toEqual([401, 200])
    await eventually(() =>
      expect(trap.stack.log().match(/"msg":"check"/g)?.length).toBeGreaterThan(1),
    )
    const dumps = await Promise.all(
      ['/metrics', '/status', '/config_dump', '/'].map(async (path) =>
        (await fetch(trap.stack.admin + path)).text(),
      ),
    )
    const decision = /^.*"msg":"decision".*$/gm
    const log = trap.stack.log().replace(decision, (line) => line.replace('"sub":"alice",', ''))
    const everywhere = [
      log,
      ...dumps.map((text) => text.replaceAll('<span class="dim">sub</span> alice', '')),
      JSON.stringify(trap.reached()),
      refused.body,
      JSON.stringify(refused.rawHeaders),
    ].join('\n')
    const [head = '', payload = '', signature = ''] = trap.token.split('.')
    for (const part of [trap.token, payload, signature.slice(0, 40), `${head}.`, 'alice'])
      expect(everywhere).not.toContain(part)
  })
})
