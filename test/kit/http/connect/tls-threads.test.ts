// The threads that open TLS connections: whatever ends one ends its connections, and the next call starts it again.

import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createServer } from 'node:tls'
import { expect, test } from 'vitest'
import { TlsThread } from '../../../../src/kit/http/connect/tls-lanes.js'
import { createCallRemote, systemLookup } from '../../../../src/kit/http/http-call.js'
import { selfSignedRsa } from '../../../support/certificates.js'
import { tlsLanes } from '../../../support/tls.js'
import { at, closeAfterEach, closing, serve, serveRaw } from '../support/servers.js'

closeAfterEach()

const pair = selfSignedRsa('idp.example')
const tls = {
  hostname: 'idp.example',
  subjectAltNames: [],
  authorities: { pem: pair.cert },
}

function caller() {
  const lanes = tlsLanes()
  closing.push(() => Promise.resolve(lanes.close()))
  const call = createCallRemote({ lookup: systemLookup, connectTls: lanes.usual })
  const get = (port: number, signal?: AbortSignal) =>
    call(at(port, { url: 'https://idp.example/', tls }), {
      method: 'GET',
      timeoutMs: 60_000,
      ...(signal && { signal }),
    })
  return { get, end: () => lanes.close() }
}

/** A server that accepts connections and says nothing. accepted: the next of them. */
async function silent() {
  const accepted: ((socket: Socket) => void)[] = []
  const port = await serveRaw((socket) => accepted.shift()?.(socket))
  return { port, accepted: () => new Promise<Socket>((resolve) => accepted.push(resolve)) }
}

test('a thread that ends fails the handshakes under way, and the next call starts another', async () => {
  const { get, end } = caller()
  const { port, accepted } = await silent()
  const socket = accepted()
  const call = get(port)
  await socket
  end()
  expect(await call).toEqual({
    ok: false,
    error: { type: 'tls', hostname: 'idp.example', code: 'ECONNRESET' },
  })
  const other = await serve((_, response) => response.end('{}'), { tls: pair })
  expect(await get(other)).toMatchObject({ ok: true })
})

test('a thread that ends fails the calls under way', async () => {
  const { get, end } = caller()
  const asked = new EventEmitter()
  const port = await serve(() => asked.emit('request'), { tls: pair })
  const request = once(asked, 'request')
  const call = get(port)
  await request
  end()
  expect(await call).toEqual({ ok: false, error: { type: 'broken', code: 'ECONNRESET' } })
})

test('a thread whose program fails is a failure of TLS', async () => {
  const thread = new TlsThread({
    caFile: '/nonexistent',
    program: new URL('data:text/javascript,throw new Error("no")'),
    onSlow: () => undefined,
  })
  const connecting = thread.connect({ ip: '127.0.0.1', port: 1 }, tls, {
    signal: new AbortController().signal,
    timeoutMs: 1_000,
  })
  await expect(connecting).rejects.toMatchObject({
    failure: { type: 'tls', hostname: 'idp.example', code: 'ECONNRESET' },
  })
})

test('a call that is given up during the handshake leaves no connection behind', async () => {
  const { get } = caller()
  const { port, accepted } = await silent()
  const socket = accepted()
  const given = new AbortController()
  const call = get(port, given.signal)
  const closed = once((await socket).resume(), 'close')
  given.abort()
  expect(await call).toEqual({ ok: false, error: { type: 'aborted' } })
  await closed
})

test('nothing listens: the address is named', async () => {
  const port = await serve(() => undefined)
  await closing.pop()?.()
  expect(await caller().get(port)).toEqual({
    ok: false,
    error: { type: 'unreachable', address: `127.0.0.1:${port}`, code: 'ECONNREFUSED' },
  })
})

test('what comes with the end of the handshake is read, and so is the end of the connection', async () => {
  const port = await serveTls('ECDHE')
  // The first part ends with ServerHelloDone (RFC 5246, section 7.3), the rest comes at once.
  const joined = await serveVia(port, (client, parts) => {
    parts.once('data', (first: Buffer) => {
      client.write(first)
      const rest: Buffer[] = []
      parts.on('data', (bytes: Buffer) => rest.push(bytes))
      parts.on('end', () => client.end(Buffer.concat(rest)))
    })
  })
  const { get } = caller()
  for (let calls = 0; calls < 20; calls++)
    expect(await get(joined)).toMatchObject({ value: { status: 204 } })
})

test('a long reply that ends with its connection is read whole', async () => {
  const body = 'x'.repeat(900_000)
  const port = await serve(
    (_, response) => {
      response.useChunkedEncodingByDefault = false
      response.shouldKeepAlive = false
      response.end(body)
    },
    { tls: pair },
  )
  const { get } = caller()
  for (let calls = 0; calls < 20; calls++) {
    const answer = await get(port)
    expect(answer.ok && answer.value.body.length).toBe(body.length)
  }
})

test('nonsense behind the handshake ends its connection alone', async () => {
  const asked = new EventEmitter()
  const answers: (() => void)[] = []
  const port = await serve(
    (_, response) => {
      answers.push(() => response.end('{}'))
      asked.emit('request')
    },
    { tls: pair },
  )
  const broken = await serveVia(port, (client, parts) =>
    parts.on('data', (bytes: Buffer) => client.write(Buffer.concat([bytes, Buffer.alloc(99)]))),
  )
  const { get } = caller()
  const request = once(asked, 'request')
  const other = get(port)
  await request
  for (let calls = 0; calls < 20; calls++) expect(await get(broken)).toMatchObject({ ok: false })
  for (const answer of answers) answer()
  expect(await other).toMatchObject({ ok: true })
})

/** Starts a server that passes on what clients send. pass: what it does with what comes back. */
async function serveVia(
  port: number,
  pass: (client: Socket, parts: Socket) => void,
): Promise<number> {
  return serveRaw((client) => {
    const inner = connect(port, '127.0.0.1')
    inner.on('error', () => client.destroy())
    client.pipe(inner)
    client.on('close', () => inner.destroy())
    pass(client, inner)
  })
}

// The server chooses the group (RFC 5246, section 7.4.3), and one of 10,000 bits takes the client a second.
test('a server that wants finite-field Diffie-Hellman is refused, one with elliptic curves is not', async () => {
  const [finite, elliptic] = [await serveTls('DHE'), await serveTls('ECDHE')]
  const { get } = caller()
  expect(await get(finite)).toMatchObject({ error: { type: 'tls' } })
  expect(await get(elliptic)).toMatchObject({ value: { status: 204 } })
})

/** Starts a server of TLS 1.2 that answers each connection at once. */
async function serveTls(exchange: 'DHE' | 'ECDHE'): Promise<number> {
  const server = createServer(
    {
      key: pair.key,
      cert: pair.cert,
      maxVersion: 'TLSv1.2',
      dhparam: 'auto',
      ciphers: `${exchange}-RSA-AES128-GCM-SHA256`,
    },
    (socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end('HTTP/1.1 204 No Content\r\n\r\n'),
  )
  server.on('tlsClientError', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => new Promise((resolve) => server.close(resolve)))
  return (server.address() as { readonly port: number }).port
}
