// Pooled webhook calls: how many connections, how long, where they may go, and what is left when they end.

import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type PooledCall, type WebhookPools } from '../../src/remote/webhook-pools.js'
import { plainPools } from '../extproc/support/guards.js'
import { eventually } from '../support/eventually.js'

let server: Server
let pools: WebhookPools
let waiting: ServerResponse[]
let sockets: Set<Socket>

beforeEach(async () => {
  waiting = []
  sockets = new Set()
  server = createServer((_request, response) => waiting.push(response))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  pools = plainPools()
})
afterEach(async () => {
  await pools.close()
  await eventually(() => expect(sockets.size).toBe(0))
  server.close()
})

const call = (changes: Partial<PooledCall> = {}): PooledCall => ({
  backend: 'guard',
  target: {
    url: 'http://guard.example/request',
    endpoints: {
      type: 'addresses',
      addresses: [{ ip: '127.0.0.1', port: (server.address() as AddressInfo).port }],
    },
  },
  maxConnections: 100,
  keepAliveSeconds: 300,
  method: 'POST',
  path: '/request',
  headers: { host: 'guard.example' },
  body: new Uint8Array([1]),
  maxBytes: 1000,
  signal: new AbortController().signal,
  ...changes,
})
const arrived = (count: number) => eventually(() => expect(waiting).toHaveLength(count))

test('no more connections than the limit; who waits for one waits within its deadline', async () => {
  const first = pools.call(call({ maxConnections: 1 }))
  await arrived(1)
  const second = await pools.call(call({ maxConnections: 1, timeoutMs: 50 }))
  expect(second).toEqual({ ok: false, error: { type: 'timeout', timeoutMs: 50 } })
  const third = pools.call(call({ maxConnections: 1 }))
  waiting[0]?.end('one')
  await arrived(2)
  waiting[1]?.end('three')
  expect((await Promise.all([first, third])).map(({ ok }) => ok)).toEqual([true, true])
  expect(sockets.size).toBe(1)
})

test('0 is no limit', async () => {
  const calls = Array.from({ length: 20 }, () => pools.call(call({ maxConnections: 0 })))
  await arrived(20)
  expect(sockets.size).toBe(20)
  for (const response of waiting) response.end()
  await Promise.all(calls)
})

test('keep-alive 0: the connection ends with its answer', async () => {
  const only = pools.call(call({ keepAliveSeconds: 0 }))
  await arrived(1)
  waiting[0]?.end('x')
  expect((await only).ok).toBe(true)
  await eventually(() => expect(sockets.size).toBe(0))
})

test('a caller that gives up frees its connection', async () => {
  const controller = new AbortController()
  const only = pools.call(call({ signal: controller.signal }))
  await arrived(1)
  const closed = new Promise((resolve) => waiting[0]?.on('close', resolve))
  controller.abort()
  expect(await only).toEqual({ ok: false, error: { type: 'aborted' } })
  await closed
})

test('an answer that trickles beyond the deadline is cut off', async () => {
  const only = pools.call(call({ timeoutMs: 100 }))
  await arrived(1)
  waiting[0]?.write('a')
  expect(await only).toMatchObject({ ok: false, error: { type: 'timeout' } })
})

test('a kept connection that the server closed meanwhile is no failure', async () => {
  const first = pools.call(call())
  await arrived(1)
  waiting[0]?.end()
  await first
  for (const socket of sockets) socket.destroy()
  const second = pools.call(call())
  await arrived(2)
  waiting[1]?.end()
  expect((await second).ok).toBe(true)
})

test('a connection that breaks under every call is a failure', async () => {
  const only = pools.call(call())
  await arrived(1)
  waiting[0]?.socket?.destroy()
  await arrived(2)
  waiting[1]?.socket?.destroy()
  expect(await only).toMatchObject({ ok: false, error: { type: 'broken' } })
})

test('other endpoints: new calls go there, those under way end where they began', async () => {
  const old = pools.call(call())
  await arrived(1)
  const elsewhere = call({
    target: {
      url: 'http://guard.example/request',
      endpoints: { type: 'addresses', addresses: [] },
    },
  })
  expect(await pools.call(elsewhere)).toEqual({ ok: false, error: { type: 'no-endpoints' } })
  waiting[0]?.end('still here')
  expect((await old).ok).toBe(true)
})

test('never to a cloud metadata address, whatever the name resolves to', async () => {
  const guarded = plainPools(() => Promise.resolve([{ address: '169.254.169.254', family: 4 }]))
  const target = {
    url: 'http://guard.example/request',
    endpoints: { type: 'name', host: 'guard.example', port: 80 } as const,
  }
  expect(await guarded.call(call({ target }))).toMatchObject({
    ok: false,
    error: { type: 'forbidden-address' },
  })
  await guarded.close()
})

test('close ends what is under way', async () => {
  const only = pools.call(call())
  await arrived(1)
  await pools.close()
  expect((await only).ok).toBe(false)
})
