// Pooled webhook calls: the number and lifetime of connections, the addresses that they may reach, and what remains
// when they end.

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CONNECTION_MS, type PooledCall } from '../../../src/kit/http/webhook-call.js'
import { createLine, MOST_WAITING } from '../../../src/kit/http/webhook-line.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { eventually } from '../../../testing/eventually.js'
import { plainPools } from '../../extproc/support/guards.js'
import { callTo, startWebhook, type Webhook } from './support/webhook.js'

let hook: Webhook
let pools: WebhookPools
let server: Webhook['server']
let waiting: Webhook['waiting']
let sockets: Webhook['sockets']

beforeEach(async () => {
  hook = await startWebhook()
  ;({ server, waiting, sockets } = hook)
  pools = plainPools()
})
afterEach(async () => {
  await pools.close()
  await eventually(() => expect(sockets.size).toBe(0))
  server.close()
})

const call = (changes: Partial<PooledCall> = {}): PooledCall => callTo(hook.target, changes)
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

test('a reply gets the next connection, however many prompts wait', async () => {
  const order: string[] = []
  const limited = (phase: 'request' | 'response') =>
    pools.call(call({ maxConnections: 1, phase })).then(() => order.push(phase))
  const all = [limited('request'), limited('request'), limited('response')]
  for (let at = 0; at < all.length; at += 1) {
    await arrived(at + 1)
    waiting[at]?.end()
  }
  await Promise.all(all)
  expect(order).toEqual(['request', 'response', 'request'])
})

test('more than so many prompts wait for no connection, and replies still do', async () => {
  const calls = Array.from({ length: MOST_WAITING + 1 }, () =>
    pools.call(call({ maxConnections: 1 })),
  )
  await arrived(1)
  expect(await pools.call(call({ maxConnections: 1 }))).toEqual({
    ok: false,
    error: { type: 'busy', waiting: MOST_WAITING },
  })
  const reply = pools.call(call({ maxConnections: 1, phase: 'response' }))
  waiting[0]?.end()
  await arrived(2)
  waiting[1]?.end()
  expect((await reply).ok).toBe(true)
  await pools.close()
  expect((await Promise.all(calls)).filter(({ ok }) => ok)).toHaveLength(1)
})

test('without a deadline a call waits for a connection for half a minute, and for its answer as long as it takes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const first = pools.call(call({ maxConnections: 1 }))
  const second = pools.call(call({ maxConnections: 1 }))
  vi.advanceTimersByTime(CONNECTION_MS)
  vi.useRealTimers()
  expect(await second).toEqual({
    ok: false,
    error: { type: 'no-connection', waitedMs: CONNECTION_MS },
  })
  await arrived(1)
  waiting[0]?.end()
  expect((await first).ok).toBe(true)
})

test('an answer in gzip is read, and one that grows beyond the limit is none', async () => {
  for (const [size, ok] of [
    [10, true],
    [2000, false],
  ] as const) {
    const only = pools.call(call())
    await arrived(waiting.length + 1)
    const body = gzipSync('x'.repeat(size))
    waiting.at(-1)?.writeHead(200, { 'content-encoding': 'gzip' }).end(body)
    expect((await only).ok).toBe(ok)
  }
})

test('a caller that gives up while its answer is unpacked leaves the connection to the next call', async () => {
  const leaving = new AbortController()
  const line = createLine(1)
  // The next call has the connection from this moment on, and the caller before it is still unpacking.
  const leave = (): void => {
    line.leave()
    leaving.abort()
  }
  const packed = plainPools(undefined, { open: () => ({ ...line, leave }) })
  const first = packed.call(call({ maxConnections: 1, signal: leaving.signal }))
  const second = packed.call(call({ maxConnections: 1 }))
  await arrived(1)
  waiting[0]?.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'))
  expect(await first).toEqual({ ok: false, error: { type: 'aborted' } })
  await arrived(2)
  waiting[1]?.end()
  expect([(await second).ok, hook.made()]).toEqual([true, 1])
  await packed.close()
})

test('a redirect is not followed, and is no answer', async () => {
  const only = pools.call(call())
  await arrived(1)
  waiting[0]?.writeHead(302, { location: '/elsewhere' }).end('x')
  expect(await only).toEqual({ ok: false, error: { type: 'redirect', status: 302 } })
})

test('0 is no limit', async () => {
  const calls = Array.from({ length: 20 }, () => pools.call(call({ maxConnections: 0 })))
  await arrived(20)
  expect(sockets.size).toBe(20)
  for (const response of waiting) response.end()
  await Promise.all(calls)
})

/** Ends the only call that waits, with these headers. */
async function served(changes: Partial<PooledCall> = {}, headers: Record<string, string> = {}) {
  const only = pools.call(call({ maxConnections: 1, ...changes }))
  await arrived(waiting.length + 1)
  waiting.at(-1)?.writeHead(200, headers).end('x')
  expect((await only).ok).toBe(true)
}

test('keep-alive 0 is no limit: an idle connection outlives one that is kept for five seconds', async () => {
  const limited = { backend: 'other', keepAliveSeconds: 5 }
  await served(limited)
  await served({ keepAliveSeconds: 0 })
  expect(sockets.size).toBe(2)
  await eventually(() => expect(sockets.size).toBe(1))
  await served({ keepAliveSeconds: 0 })
  expect(hook.made()).toBe(2)
  await served(limited)
  expect(hook.made()).toBe(3)
})

test.each([
  ['its own limit', 1, 'timeout=60'],
  ['what the server says, two seconds before', 0, 'timeout=3'],
])('an idle connection is kept until %s', async (_name, keepAliveSeconds, hint) => {
  await served({ keepAliveSeconds }, { 'keep-alive': hint })
  expect(sockets.size).toBe(1)
  await eventually(() => expect(sockets.size).toBe(0))
})

test.each([
  ['in one piece with it', (socket: Socket) => socket.write(`${WHOLE}${WHOLE}`)],
  [
    'later',
    (socket: Socket) => {
      socket.write(WHOLE)
      setImmediate(() => socket.write(WHOLE))
    },
  ],
])('what follows an answer %s is not taken for the next answer', async (_name, answer) => {
  const first = pools.call(call({ maxConnections: 1 }))
  await arrived(1)
  const [socket] = sockets
  if (socket !== undefined) answer(socket)
  expect(await first).toMatchObject({ ok: true, value: { status: 200 } })
  await eventually(() => expect(sockets.size).toBe(0))
  await served({ maxConnections: 1 })
  expect(hook.made()).toBe(2)
})

test('a connection that the server keeps no longer is not used again', async () => {
  await served({ keepAliveSeconds: 0 }, { connection: 'close' })
  await eventually(() => expect(sockets.size).toBe(0))
  await served({ keepAliveSeconds: 0 })
  expect(hook.made()).toBe(2)
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

test('a kept connection that breaks when it is used again is no failure: once more, over a new one', async () => {
  await served()
  const second = pools.call(call({ maxConnections: 1 }))
  await arrived(2)
  waiting[1]?.socket?.destroy()
  await arrived(3)
  waiting[2]?.end()
  expect((await second).ok).toBe(true)
  expect(hook.made()).toBe(2)
})

test('but only once', async () => {
  await served()
  const second = pools.call(call({ maxConnections: 1 }))
  await arrived(2)
  waiting[1]?.socket?.destroy()
  await arrived(3)
  waiting[2]?.socket?.destroy()
  expect(await second).toMatchObject({ ok: false, error: { type: 'broken' } })
  expect(waiting).toHaveLength(3)
})

test('over a new connection nothing is repeated: the webhook may have taken it', async () => {
  const only = pools.call(call())
  await arrived(1)
  waiting[0]?.socket?.destroy()
  expect(await only).toMatchObject({ ok: false, error: { type: 'broken' } })
  expect(waiting).toHaveLength(1)
  await served()
})

test('nor an answer that breaks off', async () => {
  await served()
  const second = pools.call(call({ maxConnections: 1 }))
  await arrived(2)
  waiting[1]?.writeHead(200, { 'content-length': '5' }).write('x', () => {
    waiting[1]?.socket?.destroy()
  })
  expect(await second).toMatchObject({ ok: false, error: { type: 'broken' } })
  expect(waiting).toHaveLength(2)
})

test('a webhook that was away is used again with the next call', async () => {
  const { port } = server.address() as AddressInfo
  const refused = Array.from({ length: 3 }, () => call({ maxConnections: 1 }))
  await new Promise((resolve) => server.close(resolve))
  for (const one of refused)
    expect(await pools.call(one)).toMatchObject({
      ok: false,
      error: { type: 'unreachable', code: 'ECONNREFUSED' },
    })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  await served()
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

test('TCP asks a webhook that says nothing whether it is still there: there may be no deadline', async () => {
  const leaving = new AbortController()
  const answer = pools.call(call({ signal: leaving.signal }))
  await arrived(1)
  const [socket] = sockets
  await eventually(() => expect(timerOf(socket?.remotePort ?? 0)).toBe(KEEPALIVE))
  leaving.abort()
  await answer
})

/** Which of its timers Linux has started for the connection from that port. */
function timerOf(localPort: number): string | undefined {
  const local = `0100007F:${localPort.toString(16).toUpperCase().padStart(4, '0')}`
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n')
  const row = rows.map((line) => line.trim().split(/\s+/)).find((fields) => fields[1] === local)
  return row?.[5]?.slice(0, 2)
}
const KEEPALIVE = '02'

/** An answer with its body. */
const WHOLE = 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na'
