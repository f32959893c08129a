// Bytes between two threads: all arrive in their order, a reader that stops holds the writer back, and both ends close.

import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { afterEach, expect, test } from 'vitest'
import { PortStream } from '../../../../src/kit/http/connect/port-stream.js'

const MOST_UNREAD = 256 * 1024

const open: PortStream[] = []
afterEach(() => {
  for (const stream of open.splice(0)) stream.destroy()
})

function pair(): { one: PortStream; other: PortStream; port: MessagePort } {
  const { port1, port2 } = new MessageChannel()
  const [one, other] = [new PortStream(port1), new PortStream(port2)]
  open.push(one, other)
  return { one, other, port: port2 }
}

async function readAll(stream: PortStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Writes as fast as the stream allows. */
async function write(stream: PortStream, bytes: Buffer, size: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += size)
    if (!stream.write(bytes.subarray(at, at + size))) await once(stream, 'drain')
  stream.end()
}

test.each([1, 7, 1_000, 65_536, 3_000_000])(
  'what is written in pieces of %i bytes arrives',
  async (size) => {
    const bytes = Buffer.from(
      Uint8Array.from({ length: Math.min(3_000_000, 20_000 * size) }, (_, at) => at % 251),
    )
    const { one, other } = pair()
    void write(one, bytes, size)
    expect((await readAll(other)).equals(bytes)).toBe(true)
  },
)

test('bytes go both ways at once', async () => {
  const { one, other } = pair()
  other.on('data', (bytes: Buffer) => other.write(bytes))
  const echoed: Buffer[] = []
  one.on('data', (bytes: Buffer) => echoed.push(bytes))
  const sent = Buffer.alloc(1_000_000, 'abc')
  one.write(sent)
  while (echoed.reduce((sum, { length }) => sum + length, 0) < sent.length) await nextTurn()
  expect(Buffer.concat(echoed).equals(sent)).toBe(true)
})

test('a reader that stops holds the writer back, and goes on where it stopped', async () => {
  const { one, other } = pair()
  let sent = 0
  const count = (): void => {
    while (one.write(Buffer.alloc(10_000))) sent += 10_000
    sent += 10_000
  }
  one.on('drain', count)
  count()
  other.pause()
  for (let turns = 0; turns < 1_000; turns++) await nextTurn()
  expect(sent).toBeLessThan(2 * MOST_UNREAD)
  one.off('drain', count)
  let read = 0
  other.on('data', ({ length }: Buffer) => (read += length)).resume()
  while (read < sent) await nextTurn()
  expect(read).toBe(sent)
})

test('of a long piece no more waits for a reader than of short ones', async () => {
  const { one, other } = pair()
  one.write(Buffer.alloc(3_000_000))
  for (let turns = 0; turns < 1_000; turns++) await nextTurn()
  expect(other.readableLength).toBeLessThanOrEqual(MOST_UNREAD)
  let read = 0
  other.on('data', ({ length }: Buffer) => (read += length))
  while (read < 3_000_000) await nextTurn()
})

test('single bytes that are written at once arrive together', async () => {
  const { one, other } = pair()
  let messages = 0
  let length = 0
  other.on('data', (bytes: Buffer) => {
    messages += 1
    length += bytes.length
  })
  for (let at = 0; at < 10_000; at++) one.write('a')
  while (length < 10_000) await nextTurn()
  expect(messages).toBeLessThan(10)
})

test('an end is the end for both', async () => {
  const { one, other } = pair()
  one.resume().end('last')
  expect((await readAll(other)).toString()).toBe('last')
  await Promise.all([one, other].map(async (each) => each.closed || (await once(each, 'close'))))
})

test('what came before the end is read, however late', async () => {
  const { one, other } = pair()
  one.end('last')
  await once(one, 'finish')
  one.destroy()
  for (let turns = 0; turns < 100; turns++) await nextTurn()
  expect((await readAll(other)).toString()).toBe('last')
})

test('an error at one end is one at the other, with its code', async () => {
  const { one, other } = pair()
  one.on('error', () => undefined)
  one.destroy(Object.assign(new Error('secret'), { code: 'EPIPE' }))
  const [error] = (await once(other, 'error')) as [Error]
  expect(error).toMatchObject({ code: 'EPIPE', message: 'the connection was closed' })
})

test('one that is destroyed, or whose thread has ended, is a lost connection at the other end', async () => {
  for (const end of [
    ({ one }: ReturnType<typeof pair>) => one.destroy(),
    ({ port }: ReturnType<typeof pair>) => port.close(),
  ]) {
    const streams = pair()
    streams.other.on('error', () => undefined)
    end(streams)
    const [error] = (await once(streams.one.destroyed ? streams.other : streams.one, 'error')) as [
      Error,
    ]
    expect(error).toMatchObject({ code: 'ECONNRESET' })
  }
})

test('a writer that waits for its reader is let go when the other end is gone', async () => {
  const { one, other } = pair()
  one.on('error', () => undefined)
  one.write(Buffer.alloc(2 * MOST_UNREAD))
  const written = new Promise((resolve) => one.write('more', resolve))
  other.destroy()
  expect(await written).toBeInstanceOf(Error)
})
