// Answers of real servers, good and bad: what is returned, what is rejected, and when waiting ends.

import { once } from 'node:events'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { describeFailure } from '../../../src/kit/http/connect/remote-failure.js'
import {
  at,
  callerWith,
  closeAfterEach,
  failureOf,
  get,
  serve,
  serveRaw,
} from './support/servers.js'

closeAfterEach()

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

  test('a TLS handshake that never ends, and its connection is closed', async () => {
    let closed: Promise<unknown> | undefined
    const port = await serveRaw((socket) => {
      closed = once(socket.resume(), 'close')
    })
    const target = at(port, {
      tls: { hostname: 'idp.example', subjectAltNames: [], authorities: 'System' },
    })
    expect(await failureOf(target, { timeoutMs: 100 })).toEqual(timeout)
    await closed
  })

  test('a resolver that never answers', async () => {
    const call = callerWith(() => new Promise(() => {}))
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

test('a failure’s sentence holds nothing of the answer', async () => {
  const port = await serveRaw((socket) =>
    socket.once('data', () => socket.end('secret-token\r\n\r\n')),
  )
  const failure = await failureOf(at(port))
  expect(failure && describeFailure(failure)).toMatch(
    /^the connection broke \(([A-Z_]+|unknown)\)$/,
  )
})
