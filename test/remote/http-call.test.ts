// Our own calls against real servers, good and bad: what comes back, what is refused, and that nothing is left behind.

import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { UpstreamTls } from '../../src/ir/destination.js'
import type { RemoteTarget } from '../../src/ir/remote-target.js'
import { callRemote, createCallRemote, type RemoteRequest } from '../../src/remote/http-call.js'
import { describeFailure } from '../../src/remote/remote-failure.js'
import { selfSigned, type KeyPair } from '../support/certificates.js'
import { startHttpServer, type HttpServerOptions } from '../support/http-server.js'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const serve = async (listener: RequestListener, options: HttpServerOptions = {}) => {
  const server = await startHttpServer(listener, options)
  closing.push(() => server.close())
  return server.port
}

/** A server of raw bytes. */
const serveRaw = async (onConnection: (socket: Socket) => void): Promise<number> => {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

const at = (port: number, more: Partial<RemoteTarget> = {}): RemoteTarget => ({
  url: 'http://idp.example/keys?a=b',
  endpoints: { type: 'addresses', addresses: [{ ip: '127.0.0.1', port }] },
  ...more,
})

const get = (target: RemoteTarget, more: Partial<RemoteRequest> = {}) =>
  callRemote(target, { method: 'GET', ...more })

const failureOf = async (target: RemoteTarget, more: Partial<RemoteRequest> = {}) => {
  const result = await get(target, more)
  return result.ok ? undefined : result.error
}

const bodyOf = async (request: IncomingMessage) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

describe('the request', () => {
  test('goes to the endpoints, with the URL’s authority as Host', async () => {
    let seen: IncomingMessage | undefined
    const port = await serve((request, response) => {
      seen = request
      response.setHeader('X-Thing', ['a', 'b']).end('{"ok":true}')
    })
    const result = await get(
      at(port, { url: 'https://idp.example:80/keys?a=b', forwardedProto: 'https' }),
    )
    expect(result.ok && Buffer.from(result.value.body).toString()).toBe('{"ok":true}')
    expect(result.ok && result.value.status).toBe(200)
    expect(result.ok && result.value.headers['x-thing']).toBe('a, b')
    expect(seen?.url).toBe('/keys?a=b')
    expect(seen?.headers).toMatchObject({
      host: 'idp.example:80',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'x-forwarded-proto': 'https',
      connection: 'close',
    })
  })

  test('carries a body', async () => {
    let seen: unknown
    const port = await serve((request, response) => {
      void bodyOf(request).then((body) => {
        seen = { body, headers: request.headers }
        response.writeHead(201).end()
      })
    })
    const result = await callRemote(at(port), {
      method: 'POST',
      headers: { 'content-type': 'application/json', host: 'evil.example' },
      body: Buffer.from('{"a":1}'),
    })
    expect(result.ok && result.value.status).toBe(201)
    expect(seen).toMatchObject({
      body: '{"a":1}',
      headers: { 'content-type': 'application/json', 'content-length': '7', host: 'idp.example' },
    })
    expect(seen).not.toHaveProperty(['headers', 'x-forwarded-proto'])
  })

  test('is sent once, whatever the server does with the connection', async () => {
    let connections = 0
    const port = await serveRaw((socket) => {
      connections += 1
      socket.once('data', () => socket.end())
    })
    expect((await failureOf(at(port)))?.type).toBe('broken')
    expect(connections).toBe(1)
  })

  test('goes to the next address when one cannot be reached', async () => {
    const port = await serve((_request, response) => response.end('{}'))
    const closed = await serveRaw(() => {})
    await closing.pop()?.()
    const addresses = [
      { ip: '127.0.0.1', port: closed },
      { ip: '127.0.0.1', port },
    ]
    expect((await get(at(0, { endpoints: { type: 'addresses', addresses } }))).ok).toBe(true)
  })

  test('resolves a name, also one in brackets', async () => {
    const port = await serve((_request, response) => response.end('{}'))
    for (const host of ['localhost', '127.0.0.1'])
      expect((await get(at(0, { endpoints: { type: 'name', host, port } }))).ok).toBe(true)
    expect(
      await failureOf(at(0, { endpoints: { type: 'name', host: '[::ffff:a9fe:1]', port } })),
    ).toMatchObject({ type: 'forbidden-address' })
  })
})

describe('answers', () => {
  test.each([400, 404, 500, 503])('%i is an answer', async (status) => {
    const port = await serve((_request, response) => response.writeHead(status).end('no'))
    const result = await get(at(port))
    expect(result.ok && result.value.status).toBe(status)
  })

  test.each([301, 302, 303, 304, 307, 308])('%i is not followed', async (status) => {
    const paths: (string | undefined)[] = []
    const port = await serve((request, response) => {
      paths.push(request.url)
      response.writeHead(status, { location: '/elsewhere' }).end()
    })
    expect(await failureOf(at(port))).toEqual({ type: 'redirect', status })
    expect(paths).toEqual(['/keys?a=b'])
  })

  test('gzip that was not asked for is decoded, within the limit', async () => {
    const answers: [string, Buffer][] = [
      ['gzip', gzipSync('{"a":1}')],
      ['gzip', gzipSync(Buffer.alloc(2_000_000))],
      ['gzip', Buffer.from('not gzip')],
      ['br', Buffer.from('?')],
    ]
    const port = await serve((request, response) => {
      const [encoding, body] = answers[Number(request.headers['x-case'])] ?? ['', Buffer.alloc(0)]
      response.writeHead(200, { 'content-encoding': encoding }).end(body)
    })
    const answerTo = (index: number) => get(at(port), { headers: { 'x-case': String(index) } })
    const decoded = await answerTo(0)
    expect(decoded.ok && Buffer.from(decoded.value.body).toString()).toBe('{"a":1}')
    expect(await answerTo(1)).toMatchObject({ error: { type: 'too-large' } })
    expect(await answerTo(2)).toMatchObject({ error: { type: 'encoding' } })
    expect(await answerTo(3)).toMatchObject({ error: { type: 'encoding' } })
  })

  test('1 MiB is the limit, announced or not', async () => {
    const port = await serve((request, response) => {
      const size = Number(request.headers['x-size'])
      if (request.headers['x-announced'] === 'yes') response.setHeader('content-length', size)
      response.end(Buffer.alloc(size, 0x20))
    })
    const sized = (size: number, announced: string) =>
      get(at(port), { headers: { 'x-size': String(size), 'x-announced': announced } })
    for (const announced of ['yes', 'no']) {
      const whole = await sized(1024 * 1024, announced)
      expect(whole.ok && whole.value.body.length).toBe(1024 * 1024)
      expect(await sized(1024 * 1024 + 1, announced)).toMatchObject({
        error: { type: 'too-large', maxBytes: 1024 * 1024 },
      })
    }
    expect(await failureOf(at(port), { maxBytes: 10, headers: { 'x-size': '11' } })).toMatchObject({
      type: 'too-large',
    })
  })

  test.each([
    ['nothing', ''],
    ['no HTTP', 'SSH-2.0-server\r\n\r\n'],
    ['half a header', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['less than announced', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    ['a broken chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'],
    ['an upgrade', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['endless headers', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`],
  ])('%s is broken', async (_, bytes) => {
    const port = await serveRaw((socket) => socket.once('data', () => socket.end(bytes)))
    expect((await failureOf(at(port)))?.type).toBe('broken')
  })

  test('a reset is broken', async () => {
    const port = await serveRaw((socket) =>
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{', () =>
          socket.resetAndDestroy(),
        )
      }),
    )
    expect((await failureOf(at(port)))?.type).toBe('broken')
  })
})

describe('time', () => {
  const ends = (port: number) => failureOf(at(port), { timeoutMs: 100 })
  const timeout = { type: 'timeout', timeoutMs: 100 }

  test('a server that says nothing', async () => {
    expect(await ends(await serveRaw(() => {}))).toEqual(timeout)
  })

  test('a server that trickles', async () => {
    const port = await serveRaw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
      const timer = setInterval(() => socket.write('x'), 10)
      socket.on('close', () => clearInterval(timer))
    })
    expect(await ends(port)).toEqual(timeout)
  })

  test('a TLS handshake that never ends', async () => {
    const target = at(await serveRaw(() => {}), {
      tls: { hostname: 'idp.example', subjectAltNames: [], authorities: 'System' },
    })
    expect(await failureOf(target, { timeoutMs: 100 })).toEqual(timeout)
  })

  test('a resolver that never answers', async () => {
    const call = createCallRemote(() => new Promise(() => {}))
    const target = at(0, { endpoints: { type: 'name', host: 'idp.example', port: 80 } })
    expect(await call(target, { method: 'GET', timeoutMs: 50 })).toEqual({
      ok: false,
      error: { type: 'timeout', timeoutMs: 50 },
    })
  })

  test('a caller that gives up closes the connection', async () => {
    const abort = new AbortController()
    let closed: Promise<unknown> | undefined
    const port = await serveRaw((socket) => {
      closed = once(socket, 'close')
      socket.on('data', () => abort.abort())
    })
    expect(await failureOf(at(port), { signal: abort.signal })).toEqual({ type: 'aborted' })
    await closed
    expect(await failureOf(at(port), { signal: abort.signal })).toEqual({ type: 'aborted' })
  })
})

describe('where calls may go (decision 30)', () => {
  const resolvingTo = (...addresses: string[]) =>
    createCallRemote(() =>
      Promise.resolve(
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      ),
    )
  const named = (port: number) => at(0, { endpoints: { type: 'name', host: 'idp.example', port } })

  test.each([
    '169.254.169.254',
    '::ffff:169.254.169.254',
    'fe80::1',
    'fd00:ec2::254',
    '100.100.100.200',
  ])('not to a name that resolves to %s', async (ip) => {
    expect(await resolvingTo(ip)(named(80), { method: 'GET' })).toEqual({
      ok: false,
      error: { type: 'forbidden-address', host: 'idp.example' },
    })
  })

  test('not to such an address given as an endpoint', async () => {
    const addresses = [{ ip: '169.254.169.254', port: 80 }]
    expect(await failureOf(at(0, { endpoints: { type: 'addresses', addresses } }))).toEqual({
      type: 'forbidden-address',
      host: '169.254.169.254',
    })
  })

  test('of several addresses only to the others', async () => {
    const port = await serve((_request, response) => response.end('{}'))
    const call = resolvingTo('169.254.169.254', '127.0.0.1')
    expect((await call(named(port), { method: 'GET' })).ok).toBe(true)
  })

  test('the system’s resolver is asked, and its odd spellings are seen through', async () => {
    for (const host of ['0xA9FEA9FE', '2852039166', '0251.0376.0251.0376'])
      expect(await failureOf(at(0, { endpoints: { type: 'name', host, port: 80 } }))).toMatchObject(
        { type: expect.stringMatching(/forbidden-address|unresolved/) as string },
      )
  })

  test('a name is resolved once per call', async () => {
    let lookups = 0
    const port = await serve((_request, response) => response.end('{}'))
    const call = createCallRemote(() => {
      lookups += 1
      return Promise.resolve([
        { address: lookups === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 },
      ])
    })
    expect((await call(named(port), { method: 'GET' })).ok).toBe(true)
    expect(lookups).toBe(1)
  })
})

describe('TLS', () => {
  let pair: KeyPair
  let other: KeyPair
  beforeAll(() => {
    pair = selfSigned('idp.example', '127.0.0.1', 'spiffe://idp/one', '*.wild.example')
    other = selfSigned('idp.example')
  })

  const call = async (changes: Partial<UpstreamTls>) => {
    let sni: unknown
    const port = await serve(
      (request, response) => {
        sni = (request.socket as { servername?: unknown }).servername
        response.end('{}')
      },
      { tls: pair },
    )
    const tls: UpstreamTls = {
      hostname: 'idp.example',
      subjectAltNames: [],
      authorities: { pem: pair.cert },
      ...changes,
    }
    return { result: await get(at(port, { url: 'https://idp.example/', tls })), sni: () => sni }
  }
  const refused = (code: string, hostname = 'idp.example') => ({
    ok: false,
    error: { type: 'tls', hostname, code },
  })

  test('with the right name and authority', async () => {
    const { result, sni } = await call({})
    expect(result.ok).toBe(true)
    expect(sni()).toBe('idp.example')
  })

  test('an IP address as hostname is checked, and not sent as server name', async () => {
    const { result, sni } = await call({ hostname: '127.0.0.1' })
    expect(result.ok).toBe(true)
    expect(sni()).toBe(false)
  })

  test('a certificate for another name', async () => {
    const { result } = await call({ hostname: 'other.example' })
    expect(result).toEqual(refused('ERR_TLS_CERT_ALTNAME_INVALID', 'other.example'))
  })

  test('an authority that is not trusted', async () => {
    expect((await call({ authorities: { pem: other.cert } })).result).toMatchObject({
      ok: false,
      error: { type: 'tls' },
    })
    expect((await call({ authorities: 'System' })).result).toEqual(
      refused('DEPTH_ZERO_SELF_SIGNED_CERT'),
    )
  })

  test('an authority that is no certificate', async () => {
    const { result } = await call({ authorities: { pem: 'nonsense' } })
    expect(result).toMatchObject({ ok: false, error: { type: 'tls' } })
  })

  test.each([
    ['Hostname', 'idp.example', true],
    ['Hostname', 'a.wild.example', true],
    ['Hostname', 'wild.example', false],
    ['Hostname', 'other.example', false],
    ['URI', 'spiffe://idp/one', true],
    ['URI', 'spiffe://idp/two', false],
    ['URI', 'idp.example', false],
  ] as const)('subjectAltNames %s %s: %s', async (type, value, passes) => {
    const { result } = await call({ hostname: 'sni.example', subjectAltNames: [{ type, value }] })
    expect(result).toMatchObject(
      passes ? { ok: true } : refused('ERR_TLS_CERT_ALTNAME_INVALID', 'sni.example'),
    )
  })

  test('any of the subjectAltNames is enough, and then the hostname is not checked', async () => {
    const names = [
      { type: 'Hostname', value: 'nobody.example' },
      { type: 'URI', value: 'spiffe://idp/one' },
    ] as const
    const { result, sni } = await call({ hostname: 'sni.example', subjectAltNames: names })
    expect(result.ok).toBe(true)
    expect(sni()).toBe('sni.example')
  })

  test('a server that speaks plain HTTP', async () => {
    const port = await serve((_request, response) => response.end('{}'))
    const tls = { hostname: 'idp.example', subjectAltNames: [], authorities: 'System' } as const
    expect((await failureOf(at(port, { tls })))?.type).toBe('tls')
  })
})

test.each(['', '/keys', 'ftp://idp.example/', 'http://', 'http://a b/', 'file:///etc/passwd'])(
  'the URL %j is not called',
  async (url) => {
    expect(await failureOf(at(1, { url }))).toEqual({ type: 'invalid-url' })
  },
)

test('no endpoints, no name, nothing listening', async () => {
  const none = { type: 'addresses', addresses: [] } as const
  expect(await failureOf(at(0, { endpoints: none }))).toEqual({ type: 'no-endpoints' })
  const invalid = { type: 'name', host: 'nowhere.invalid', port: 80 } as const
  expect((await failureOf(at(0, { endpoints: invalid })))?.type).toBe('unresolved')
  const port = await serveRaw(() => {})
  await closing.pop()?.()
  expect(await failureOf(at(port))).toEqual({
    type: 'unreachable',
    address: `127.0.0.1:${port}`,
    code: 'ECONNREFUSED',
  })
})

test('a failure’s sentence holds nothing of the answer', async () => {
  const port = await serveRaw((socket) =>
    socket.once('data', () => socket.end('secret-token\r\n\r\n')),
  )
  const failure = await failureOf(at(port))
  expect(failure && describeFailure(failure)).toMatch(
    /^the connection broke \(([A-Z_]+|unknown)\)$/,
  )
})
