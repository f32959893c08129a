// Webhooks that answer with more, less or something else than HTTP allows: what they send never becomes the answer to
// another prompt, and a call that they lose is repeated only if they cannot have read it.

import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { Lookup } from '../../../src/kit/http/connect/resolve.js'
import type { CallResult, PooledCall } from '../../../src/kit/http/webhook-call.js'
import { plainPools } from '../../extproc/support/guards.js'
import { at, closeAfterEach, closing, serveRaw } from './support/servers.js'

closeAfterEach()

const call = (port: number, changes: Partial<PooledCall> = {}): PooledCall => ({
  backend: 'guard',
  target: at(port),
  maxConnections: 1,
  keepAliveSeconds: 300,
  phase: 'request',
  method: 'POST',
  path: '/',
  headers: { host: 'guard.example' },
  body: Buffer.from('prompt'),
  maxBytes: 1_000_000,
  timeoutMs: 5_000,
  signal: new AbortController().signal,
  ...changes,
})

function pooled(lookup?: Lookup) {
  const pools = plainPools(lookup)
  closing.push(() => pools.close())
  return pools
}

/** A webhook that does what the step for each request says; the last step goes for all that follow. */
async function webhook(...steps: readonly ((socket: Socket) => void)[]) {
  const seen = { requests: 0 }
  const port = await serveRaw((socket) =>
    socket.on('data', () => {
      const step = steps[Math.min(seen.requests, steps.length - 1)]
      seen.requests += 1
      step?.(socket)
    }),
  )
  return { port, seen }
}

const answer = (body: string): string =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`
const says =
  (text: string) =>
  (socket: Socket): void =>
    void socket.write(text, 'latin1')
const textOf = (result: CallResult): string =>
  result.ok ? Buffer.concat(result.value.body).toString('latin1') : result.error.type

/** An answer of so many bytes with its head. */
function answerOf(length: number): string {
  const head = answer('a'.repeat(length)).length - length
  return answer('a'.repeat(length - head))
}

test.each([100, 65_535, 65_536, 65_537, 131_072, 196_608, 262_144])(
  'what follows an answer of %i bytes is not the answer to the next prompt',
  async (length) => {
    const { port } = await webhook(says(answerOf(length) + answer('stolen')), says(answer('own')))
    const pools = pooled()
    const first = pools.call(call(port))
    const next = first.then(() => pools.call(call(port)))
    expect(textOf(await first)).toMatch(/^a+$/)
    expect(textOf(await next)).toBe('own')
  },
)

test.each([
  ['a part of its head', 'HTTP/1.1 200 OK\r\ncontent-le'],
  ['an interim answer', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
])('a kept connection that breaks after %s is not used for the call again', async (_name, part) => {
  const { port, seen } = await webhook(says(answer('first')), (socket) => socket.end(part))
  const pools = pooled()
  await pools.call(call(port))
  expect(await pools.call(call(port))).toMatchObject({ ok: false, error: { type: 'broken' } })
  expect(seen.requests).toBe(2)
})

test.each([
  ['breaks', (socket: Socket, head: string) => void socket.end(head)],
  [
    'is reset',
    (socket: Socket, head: string) => void socket.write(head, () => socket.resetAndDestroy()),
  ],
  ['does not come in time', (socket: Socket, head: string) => void socket.write(head)],
])('the status of an error is known although its body %s', async (_how, answerBy) => {
  const head = 'HTTP/1.1 413 Content Too Large\r\ncontent-length: 100\r\n\r\n{'
  const port = await serveRaw((socket) => void socket.once('data', () => answerBy(socket, head)))
  const answer = await pooled().call(call(port, { timeoutMs: 500 }))
  expect(answer).toEqual({ ok: true, value: { status: 413, body: [] } })
})

test('a name that is never resolved holds up neither the next call nor the end', async () => {
  const { port } = await webhook(says(answer('here')))
  const pools = plainPools((host) =>
    host === 'lost.example'
      ? new Promise(() => undefined)
      : Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
  )
  const named = (host: string): Partial<PooledCall> => ({
    target: { url: `http://${host}/`, endpoints: { type: 'name', host, port } },
    timeoutMs: 100,
  })
  const lost = await pools.call(call(port, named('lost.example')))
  expect(lost).toMatchObject({ ok: false, error: { type: 'timeout' } })
  expect(textOf(await pools.call(call(port, named('found.example'))))).toBe('here')
  void pools.call(call(port, { ...named('lost.example'), backend: 'other', timeoutMs: 60_000 }))
  await pools.close()
})

test('an answer that comes before the prompt was read is used, and its connection is not', async () => {
  let connections = 0
  const port = await serveRaw((socket) => {
    connections += 1
    socket.pause()
    socket.write(answer('early'))
  })
  const pools = pooled()
  const body = Buffer.alloc(10 * 1024 * 1024)
  expect(textOf(await pools.call(call(port, { body })))).toBe('early')
  expect(textOf(await pools.call(call(port, { body })))).toBe('early')
  expect(connections).toBe(2)
})

test('a webhook that reads nothing is given up at the deadline, and the connection closed', async () => {
  const closed: Promise<unknown>[] = []
  const held: Socket[] = []
  const port = await serveRaw((socket) => {
    socket.pause()
    closed.push(
      new Promise((resolve) => {
        socket.on('close', resolve)
      }),
    )
    held.push(socket)
  })
  const pools = pooled()
  const body = Buffer.alloc(10 * 1024 * 1024)
  expect(textOf(await pools.call(call(port, { body, timeoutMs: 200 })))).toBe('timeout')
  // A paused socket notices the end only when it reads on.
  held[0]?.resume()
  await closed[0]
})
