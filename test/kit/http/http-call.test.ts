// Gatehouse's own calls against real servers: what is sent, to where, and how a call that cannot be made ends.

import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import {
  at,
  callRemote,
  closeAfterEach,
  closing,
  failureOf,
  get,
  serve,
  serveRaw,
} from './support/servers.js'

closeAfterEach()

async function bodyOf(request: IncomingMessage) {
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
