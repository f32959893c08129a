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
  ['a line end', '\r\n'],
  ['a part of its head', 'HTTP/1.1 200 OK\r\ncontent-le'],
  ['an interim answer', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
])('a kept connection that breaks after %s is not used for the call again', async (_name, part) => {
  const { port, seen } = await webhook(says(answer('first')), (socket) => socket.end(part))
  const pools = pooled()
  await pools.call(call(port))
  expect(await pools.call(call(port))).toMatchObject({ ok: false, error: { type: 'broken' } })
  expect(seen.requests).toBe(2)
})

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKS = `${OK}transfer-encoding: chunked\r\n`

test.each([
  ['no HTTP', 'SSH-2.0-x\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20\r\n\r\n'],
  ['another protocol', 'HTTP/1.1 101 Switching\r\n\r\n'],
  ['two lengths', `${OK}content-length: 1\r\ncontent-length: 2\r\n\r\nab`],
  ['a length twice', `${OK}content-length: 1\r\ncontent-length: 1\r\n\r\na`],
  ['a negative length', `${OK}content-length: -1\r\n\r\n`],
  ['an empty length', `${OK}content-length:\r\n\r\n`],
  ['a length with a sign', `${OK}content-length: +1\r\n\r\na`],
  ['a length beside chunks', `${CHUNKS}content-length: 1\r\n\r\n0\r\n\r\n`],
  ['another transfer coding', `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['another transfer coding alone', `${OK}transfer-encoding: gzip\r\n\r\na`],
  ['chunks twice', `${CHUNKS}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a folded field', `${OK}x: a\r\n b\r\ncontent-length: 0\r\n\r\n`],
  ['a blank before the colon', `${OK}content-length : 1\r\n\r\na`],
  ['a line end without a return', `${OK}x: a\ncontent-length: 1\r\n\r\na`],
  ['a control character', `${OK}x: a\0\r\ncontent-length: 0\r\n\r\n`],
  ['a chunk without a size', `${CHUNKS}\r\n\r\n`],
  ['a chunk with a sign', `${CHUNKS}\r\n-1\r\n`],
  ['a chunk of too many digits', `${CHUNKS}\r\n10000000000000001\r\na\r\n0\r\n\r\n`],
  ['a chunk longer than it says', `${CHUNKS}\r\n1\r\nab\r\n0\r\n\r\n`],
  ['a head without end', `${OK}x: ${'a'.repeat(20_000)}`],
  ['trailers without end', `${CHUNKS}\r\n0\r\n${'x: y\r\n'.repeat(10_000)}`],
  ['a trailer that is no field', `${CHUNKS}\r\n0\r\n${OK}\r\n`],
  ['a control character in a trailer', `${CHUNKS}\r\n0\r\na: \0\r\n\r\n`],
  ['interim answers without end', 'HTTP/1.1 103 C\r\n\r\n'.repeat(4_000)],
])('%s is refused, asked for once, and its connection is not used again', async (_name, bytes) => {
  const { port, seen } = await webhook(says(answer('first')), says(bytes), says(answer('own')))
  const pools = pooled()
  await pools.call(call(port))
  expect(await pools.call(call(port))).toMatchObject({ ok: false, error: { type: 'broken' } })
  expect(seen.requests).toBe(2)
  expect(textOf(await pools.call(call(port)))).toBe('own')
})

test.each([
  ['a reason phrase', 'HTTP/1.1 200 '],
  ['an extension of a chunk', `${CHUNKS}\r\n1;a=`],
  ['line ends before it', '\r\n'],
])('%s without end is ended by its size, though nothing limits the time', async (_name, bytes) => {
  const endless = (socket: Socket): void => {
    const more = Buffer.alloc(65_536, bytes === '\r\n' ? bytes : 'a')
    const go = (): void => {
      while (!socket.destroyed && socket.write(more));
    }
    socket.on('drain', go).write(bytes)
    go()
  }
  const { port, seen } = await webhook(says(answer('first')), endless, says(answer('own')))
  const pools = pooled()
  const unlimited = call(port, { timeoutMs: undefined, maxBytes: 1_000 })
  await pools.call(unlimited)
  expect(textOf(await pools.call(unlimited))).toBe('too-large')
  expect(seen.requests).toBe(2)
  expect(textOf(await pools.call(unlimited))).toBe('own')
})

test.each([
  [
    'chunks with an extension and trailers',
    `${CHUNKS}\r\n2;a=b\r\now\r\n1\r\nn\r\n0\r\nx: y\r\n\r\n`,
  ],
  ['an interim answer before it', `HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n${answer('own')}`],
  ['no reason phrase', 'HTTP/1.1 200\r\ncontent-length: 3\r\n\r\nown'],
])('an answer with %s is read, byte for byte', async (_name, bytes) => {
  const byByte = (socket: Socket): void => {
    for (const byte of Buffer.from(bytes)) socket.write(Buffer.of(byte))
  }
  const { port } = await webhook(says(bytes), byByte)
  const pools = pooled()
  expect(textOf(await pools.call(call(port)))).toBe('own')
  expect(textOf(await pools.call(call(port)))).toBe('own')
})

test('an answer with neither length nor chunks ends where the webhook closes', async () => {
  const { port, seen } = await webhook((socket) => socket.end(`${OK}\r\nown`))
  const pools = pooled()
  for (const requests of [1, 2]) {
    expect(textOf(await pools.call(call(port)))).toBe('own')
    expect(seen.requests).toBe(requests)
  }
})

test.each([
  ['a value', { 'x-name': 'a\r\nb: c' }],
  ['a name', { 'x name': 'a' }],
])('nothing is sent if %s could be read as another header', async (_name, headers) => {
  const { port, seen } = await webhook(says(answer('own')))
  const pools = pooled()
  const changes = { headers: { host: 'guard.example', ...headers } }
  expect(textOf(await pools.call(call(port, changes)))).toBe('broken')
  expect(textOf(await pools.call(call(port)))).toBe('own')
  expect(textOf(await pools.call(call(port, changes)))).toBe('broken')
  expect(seen.requests).toBe(1)
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
