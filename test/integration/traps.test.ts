// Paths, headers and framing that servers read differently from one another: none of them gets past the protected route.

import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startBackend, type Backend, type Recorded } from '../support/backend.js'
import { eventually } from '../support/eventually.js'
import { bearer, initialize, send } from '../support/http.js'
import { rawRequest } from '../support/raw-request.js'
import {
  gateway,
  httpRoute,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
} from '../support/resources.js'
import { startStack, type Stack } from '../support/stack.js'
import { keySet, newKey, signToken } from '../support/tokens.js'

const ISSUER = 'https://idp.example/application/o/mcp/'

const key = await newKey('k1')
const token = await signToken({ key, claims: { iss: ISSUER, aud: 'mcp' } })
let backend: Backend
let stack: Stack
let trusting: Stack

/** /mcp is protected, everything else is not, and the same backend serves both. */
const resources = (port: number): readonly object[] => [
  gateway([port]),
  proxyBackend('backend', backend),
  mcpRoute('mcp', 'backend'),
  httpRoute('open', { rules: [rule('/', 'backend')] }),
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: {
      providers: [
        { issuer: ISSUER, audiences: ['mcp'], jwks: { inline: JSON.stringify(keySet(key)) } },
      ],
      mcp: { provider: 'IdpOne', clientId: 'mcp' },
    },
  }),
]

beforeAll(async () => {
  backend = await startBackend()
  ;[stack, trusting] = await Promise.all([
    startStack({ resources, flags: ['--log-level', 'debug'] }),
    startStack({ resources, flags: ['--trusted-hops', '1'] }),
  ])
  for (const { origin } of [stack, trusting])
    await eventually(async () => expect((await send(origin, '/mcp')).status).toBe(401))
})

afterAll(async () => {
  await stack.close()
  await trusting.close()
  await backend.close()
})

/** What reached the backend since the test began. */
const reached = (): readonly Recorded[] => backend.requests
afterEach(() => void backend.requests.splice(0))

/** What a lenient backend makes of a path: no parameters, one decoding, backslashes, NULs cut, dots resolved. */
function lenient(url: string): string {
  const [path = ''] = url.split(/[?#]/)
  const plain = path.replace(/;[^/\\]*/g, '')
  const decoded = decode(plain).replaceAll('\\', '/').replaceAll('\0', '')
  const resolved: string[] = []
  for (const segment of decoded.split('/')) {
    if (segment === '..') resolved.pop()
    else if (segment !== '' && segment !== '.') resolved.push(segment)
  }
  return `/${resolved.join('/')}`
}

const decode = (path: string): string =>
  path.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)))

/** Nothing without a token came to the backend that it could take for the MCP path. */
const expectNoWayIn = (): void => {
  const sneaked = reached().filter(({ url }) => /^\/mcp(\/|$)/.test(lenient(url)))
  expect(sneaked.map(({ url }) => url)).toEqual([])
}

const get = (path: string, ...headers: readonly string[]) =>
  rawRequest(stack.origin, `GET ${path} HTTP/1.1`, 'Host: gateway.example', ...headers)

describe('paths', () => {
  test.each([
    ['/mcp', 401],
    ['/mcp/', 401],
    ['/mcp?x=/open', 401],
    ['/mcp/x', 401],
    ['/open/../mcp', 401],
    ['/./mcp', 401],
    ['/mcp/.', 401],
    ['//mcp', 401],
    ['///mcp///x', 401],
    ['/%6dcp', 401],
    ['/%6D%63%70', 401],
    ['/x/%2e%2e/mcp', 401],
    ['/x/.%2E/mcp', 401],
    ['/mcp;a=b', 400],
    ['/mcp/x;y', 400],
    ['/mcp%2f..', 400],
    ['/mcp%2Fx', 400],
    ['/mcp%5cx', 400],
    ['/x%2f..%2fmcp', 400],
    ['/mcp#x', 400],
  ])('%s is refused with %i', async (path, expected) => {
    expect((await get(path)).status).toBe(expected)
    expect(reached()).toEqual([])
  })

  test.each([
    '/..;/mcp',
    '/x/..;/mcp',
    '/x/..;a=b/mcp',
    '/;/mcp',
    '/;x=y/mcp',
    '/.;/mcp',
    '\\mcp',
    '/\\mcp',
    '/x\\..\\mcp',
    '/x/..\\mcp',
    '/%252e%252e/mcp',
    '/x/%252e%252e/mcp',
    '/%256dcp',
    '/mcp%00',
    '/%00/../mcp',
    '/mcp%0a',
    '/mcp%20',
    '/x/%2e%2e;/mcp',
    '/x/..%00/mcp',
    '/x/..%5cmcp',
    '/%2fmcp',
    '/%2f%2e%2e%2fmcp',
    '/MCP',
    '/mcp%3bx',
    '/%2e/mcp',
    '/x/%c0%ae%c0%ae/mcp',
    '/..%c0%afmcp',
    '/mcp\u00a0',
    '/mcp%ff',
    '/\tmcp',
    '/mcp\x01',
    '/x/../../mcp',
    '*',
    'mcp',
    '?/mcp',
  ])('%j gets nobody to the protected path', async (path) => {
    const { status } = await get(path)
    expect(status).not.toBe(500)
    expectNoWayIn()
  })

  test('/mcpfoo is another path', async () => {
    expect((await get('/mcpfoo')).status).toBe(200)
    expect(reached().map(({ url }) => url)).toEqual(['/mcpfoo'])
  })

  test('what leads away from the protected path does not need a token', async () => {
    expect((await get('/mcp/../open')).status).toBe(200)
    expect(reached().map(({ url }) => url)).toEqual(['/open'])
  })

  test('a raw NUL, space or line end in the request line', async () => {
    for (const path of ['/mcp\0', '/\0mcp', '/mcp x', '/open HTTP/1.1\nX: y', '/open\r/mcp'])
      await get(path)
    expectNoWayIn()
  })

  test('an absolute-form request target', async () => {
    const target = (path: string) =>
      rawRequest(stack.origin, `GET http://other.example${path} HTTP/1.1`, 'Host: gateway.example')
    expect((await target('/mcp')).status).toBe(401)
    expect((await target('/x/../mcp')).status).toBe(401)
    expect((await target('//mcp')).status).toBe(401)
    expect((await target('/open')).status).toBe(200)
    expect(reached().map(({ url }) => url)).toEqual(['/open'])
  })

  test.each(['/mcp', '/mcp/x', '/open', 'gateway.example:443', '*'])(
    'CONNECT %s opens nothing',
    async (target) => {
      const { status } = await rawRequest(
        stack.origin,
        `CONNECT ${target} HTTP/1.1`,
        'Host: gateway.example',
      )
      expect(status).toBeGreaterThanOrEqual(400)
      expect(reached()).toEqual([])
      expect((await get('/mcp')).status).toBe(401)
    },
  )

  test.each([
    ['GET', 'websocket'],
    ['POST', 'websocket'],
    ['GET', 'h2c'],
    ['GET', 'TLS/1.0'],
    ['GET', 'connect-udp'],
  ])(
    '%s with an upgrade to %s opens nothing, with or without a token',
    async (method, protocol) => {
      const lines = [
        'Connection: Upgrade, HTTP2-Settings',
        `Upgrade: ${protocol}`,
        'HTTP2-Settings: AAAA',
        'Content-Length: 0',
      ]
      const onMcp = (...more: readonly string[]) =>
        rawRequest(
          stack.origin,
          `${method} /mcp HTTP/1.1`,
          'Host: gateway.example',
          ...lines,
          ...more,
        )
      expect((await onMcp(`Authorization: Bearer ${token}`)).status).not.toBe(101)
      expect(backend.requests.splice(0).filter(({ headers }) => 'upgrade' in headers)).toEqual([])
      expect((await onMcp()).status).not.toBe(101)
      const open = await rawRequest(
        stack.origin,
        `${method} /open HTTP/1.1`,
        'Host: gateway.example',
        ...lines,
      )
      expect(open.status).not.toBe(101)
      expectNoWayIn()
    },
  )

  test.each(['OPTIONS', 'HEAD', 'TRACE', 'PUT', 'PROPFIND', 'get', 'X'])(
    '%s needs a token too',
    async (method) => {
      const { status } = await rawRequest(
        stack.origin,
        `${method} /mcp HTTP/1.1`,
        'Host: gateway.example',
        'Content-Length: 0',
      )
      expect([400, 401]).toContain(status)
      expect(reached()).toEqual([])
    },
  )
})

describe('framing', () => {
  test.each([
    ['both lengths', ['Content-Length: 4', 'Transfer-Encoding: chunked']],
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5']],
    ['an odd encoding', ['Transfer-Encoding: xchunked']],
    ['a folded header', ['X-A: b', ' c: d']],
    ['a space before the colon', ['Content-Length : 4']],
  ])('%s smuggles nothing in', async (_what, lines) => {
    await rawRequest(
      stack.origin,
      'POST /open HTTP/1.1',
      'Host: gateway.example',
      ...lines,
      '',
      '0',
      '',
      'GET /mcp HTTP/1.1',
      'Host: gateway.example',
    )
    expectNoWayIn()
  })

  test('two Host headers are one that nobody believes', async () => {
    const { status, head } = await get('/mcp', 'Host: other.example')
    expect([status, /^www-authenticate: (.*)$/im.exec(head)?.[1]]).toEqual([401, 'Bearer'])
    expect(reached()).toEqual([])
    const open = await get('/open', 'Host: other.example')
    const names = reached().flatMap(({ rawHeaders }) => rawHeaders.filter((_, i) => i % 2 === 0))
    expect([open.status, names.filter((name) => /^host$/i.test(name))]).toEqual([200, ['host']])
  })

  test('no Host is refused', async () => {
    expect((await rawRequest(stack.origin, 'GET /mcp HTTP/1.1')).status).toBe(400)
  })
})

describe('the Host header', () => {
  const challengeFor = async (
    host: string,
  ): Promise<{ status: number; challenge: string | undefined }> => {
    const { status, head } = await rawRequest(stack.origin, 'GET /mcp HTTP/1.1', `Host: ${host}`)
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
      stack.origin,
      `GET ${HERE} HTTP/1.1`,
      `Host: ${host}`,
    )
    expect(metadata).toBe(400)
    expect(head).not.toContain('evil')
    expect(reached()).toEqual([])
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
    const { status, head } = await get('/mcp', ...spoofed)
    expect(status).toBe(401)
    expect(head).toContain(`resource_metadata="http://gateway.example${HERE}"`)
    const answer = await send(stack.origin, HERE, {
      headers: { host: 'gateway.example', 'x-forwarded-host': 'evil.example' },
    })
    expect(JSON.parse(answer.body)).toMatchObject({
      authorization_servers: ['http://gateway.example/mcp'],
    })
  })

  test('X-Forwarded-Proto counts only behind a trusted proxy', async () => {
    for (const [{ origin }, scheme] of [
      [stack, 'http'],
      [trusting, 'https'],
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
      const answer = await send(trusting.origin, '/mcp', { headers })
      expect(answer.headers['www-authenticate'] ?? '').not.toMatch(/javascript|evil|gopher/)
    }
  })

  test('X-Forwarded-For of a client is not what the backend takes for the client', async () => {
    await get('/open', 'X-Forwarded-For: 203.0.113.9')
    const [seen] = reached().map(({ headers }) => String(headers['x-forwarded-for']).split(/, ?/))
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

  test('that are ours or Envoy’s own reach nobody', async () => {
    expect((await get('/mcp', ...FORGED)).status).toBe(401)
    expect((await get('/mcp', ...FORGED, `Authorization: Bearer ${token}`)).status).toBe(200)
    expect((await get('/open', ...FORGED)).status).toBe(200)
    const names = reached().flatMap(({ headers }) => Object.keys(headers))
    expect(reached()).toHaveLength(2)
    expect(names.filter((name) => /^x-gatehouse|^x-envoy-(original|auth)/.test(name))).toEqual([])
  })

  test('do not steer Envoy', async () => {
    backend.answer((_request, response) => void setTimeout(() => response.end('late'), 60))
    const answer = await send(stack.origin, '/open', {
      headers: {
        'x-envoy-upstream-rq-timeout-ms': '1',
        'x-envoy-upstream-rq-per-try-timeout-ms': '1',
        'x-envoy-retry-on': '5xx',
        'x-envoy-max-retries': '9',
        'x-envoy-force-trace': 'true',
      },
    })
    expect([answer.status, answer.body]).toEqual([200, 'late'])
    backend.answer((_request, response) => void response.writeHead(503).end())
    const failed = await send(stack.origin, '/open', {
      headers: { 'x-envoy-retry-on': '5xx', 'x-envoy-max-retries': '3' },
    })
    expect(failed.status).toBe(503)
    expect(reached()).toHaveLength(2)
    backend.answer((_request, response) => void response.end('backend'))
  })

  test.each(['X_Gatehouse_Route: x', 'authorization_: x', 'x_real_ip: 1'])(
    'with an underscore are refused: %s',
    async (line) => {
      expect((await get('/mcp', line)).status).toBe(400)
      expect((await get('/open', line)).status).toBe(400)
      expect(reached()).toEqual([])
    },
  )

  test.each(['x-a: \x00', 'x-a: \x01', 'x\x00a: b', ': b', 'x a: b', 'x-a: \r b'])(
    'with forbidden bytes are refused: %j',
    async (line) => {
      expect((await get('/mcp', line)).status).not.toBe(200)
      expect(reached()).toEqual([])
    },
  )

  test('that ask for a preflight get one only as a browser asks', async () => {
    const options = (...lines: readonly string[]) =>
      rawRequest(stack.origin, 'OPTIONS /mcp HTTP/1.1', 'Host: gateway.example', ...lines)
    expect((await options()).status).toBe(401)
    expect((await options('Origin: https://app.example')).status).toBe(401)
    expect((await options('Access-Control-Request-Method: POST')).status).toBe(401)
    expect(
      (await options('Origin: https://app.example', 'Access-Control-Request-Method: POST')).status,
    ).toBe(200)
    expect(reached()).toEqual([])
  })
})

describe('HTTP/2', () => {
  async function http2(headers: Record<string, string>): Promise<IncomingHttpHeaders> {
    const session = connectHttp2(stack.origin)
    session.on('error', () => undefined)
    try {
      const stream = session.request(headers)
      stream.end()
      const [answer] = (await Promise.race([
        once(stream, 'response'),
        once(stream, 'close').then(() => [{}]),
      ])) as [IncomingHttpHeaders]
      return answer
    } finally {
      session.destroy()
    }
  }

  test('is checked like HTTP/1.1', async () => {
    const plain = { ':authority': 'gateway.example', ':path': '/mcp' }
    expect((await http2(plain))[':status']).toBe(401)
    expect((await http2({ ...plain, ...bearer(token) }))[':status']).toBe(200)
    expect(reached()).toHaveLength(1)
  })

  test.each([
    '/mcp;x',
    '/x/../mcp',
    '//mcp',
    '/%6dcp',
    '/x/..;/mcp',
    '/mcp%2f..',
    '\\mcp',
    'mcp',
    '/mcp?x',
    '/mcp#x',
    '*',
    '',
  ])('path %j gets nobody in', async (path) => {
    await http2({ ':authority': 'gateway.example', ':path': path })
    expectNoWayIn()
  })

  test('a host beside :authority does not count', async () => {
    const answer = await http2({
      ':authority': 'gateway.example',
      ':path': '/mcp',
      host: 'evil.example',
    })
    expect([400, 401]).toContain(answer[':status'])
    expect(answer['www-authenticate'] ?? '').not.toContain('evil')
  })

  test.each<Record<string, string>>([
    { ':authority': 'a"b' },
    { ':authority': 'user@evil.example' },
    { ':scheme': 'javascript' },
    { ':scheme': 'https' },
  ])('%j is not repeated', async (headers) => {
    const answer = await http2({ ':authority': 'gateway.example', ':path': '/mcp', ...headers })
    expect(answer['www-authenticate'] ?? 'Bearer').toMatch(
      /^Bearer( resource_metadata="http:\/\/gateway\.example\/\.well-known\/oauth-protected-resource\/mcp")?$/,
    )
  })

  test('an extended CONNECT opens nothing', async () => {
    const answer = await http2({ ':method': 'CONNECT', ':authority': 'gateway.example' })
    expect(answer[':status'] ?? 400).toBeGreaterThanOrEqual(400)
    expect(reached()).toEqual([])
  })
})

describe('a token', () => {
  test('is found nowhere: not at the backend, in the log at debug level, the metrics, the status or the dump', async () => {
    const bad = `${token.slice(0, -6)}AAAAAA`
    const refused = await send(stack.origin, '/mcp', { ...initialize, headers: bearer(bad) })
    const passed = await send(stack.origin, '/mcp', { ...initialize, headers: bearer(token) })
    expect([refused.status, passed.status]).toEqual([401, 200])
    await eventually(() => expect(stack.log().match(/"msg":"check"/g)?.length).toBeGreaterThan(1))
    const dumps = await Promise.all(
      ['/metrics', '/status', '/config_dump', '/'].map(async (path) =>
        (await fetch(stack.admin + path)).text(),
      ),
    )
    const everywhere = [
      stack.log(),
      ...dumps,
      JSON.stringify(reached()),
      refused.body,
      JSON.stringify(refused.rawHeaders),
    ].join('\n')
    const [head = '', payload = '', signature = ''] = token.split('.')
    for (const part of [token, payload, signature.slice(0, 40), `${head}.`, 'alice'])
      expect(everywhere).not.toContain(part)
  })
})
