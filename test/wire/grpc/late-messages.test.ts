// Messages that begin and do not end: their calls end, and what they held is given back. An idle stream lives on.

import { describe, expect, test } from 'vitest'
import { createHeldBytes, type HeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { HeldMessages } from '../../../src/wire/grpc/message-budget.js'
import { MessageStream } from '../../../src/wire/grpc/message-stream.js'
import type { GrpcMethod, StreamCall } from '../../../src/wire/grpc/service.js'
import { Status } from '../../../src/wire/grpc/status.js'
import { type CallConnection, UnaryCall } from '../../../src/wire/grpc/unary-call.js'
import { HpackDecoder } from '../../../src/wire/http2/hpack-decoder.js'
import { FrameType } from '../../../src/wire/http2/protocol.js'
import { data, headers, RawPeer, windowUpdate } from '../http2/raw-peer.js'
import { ask, echo, endAfterEach, message, nothing, open, outcomeOf, serve } from './call-client.js'

const ARRIVAL_MS = 30_000
const HALF = message('x'.repeat(1_000)).subarray(0, 500)

/** A client whose calls have this method, by the clock of the test. */
class Client {
  readonly messages: HeldBytes = createHeldBytes(1024 * 1024)
  readonly peer: RawPeer

  constructor(method: GrpcMethod) {
    const connection: CallConnection = {
      peer: { type: 'tcp', address: '', hasCertificate: false },
      held: new HeldMessages(this.messages),
      arrivalMs: ARRIVAL_MS,
      now: () => this.peer.clock,
      onFault: (error) => expect.fail(String(error)),
    }
    this.peer = new RawPeer((head, stream) => {
      if (method.type === 'unary') return new UnaryCall(method, stream, head, undefined, connection)
      const call = new MessageStream(stream, head, undefined, connection)
      call.open(method)
      return call
    })
    this.peer.greet(headers(1))
  }

  pass(ms: number): void {
    this.peer.clock += ms
    // A client that sends nothing at all is gone.
    this.peer.write(windowUpdate(0, 1))
    this.peer.connection.tick()
  }

  /** The status that has ended the call; undefined: it goes on. */
  async status(): Promise<number | undefined> {
    const decoder = new HpackDecoder(4_096, 65_536)
    const lists = (await this.peer.of(FrameType.HEADERS)).map(({ payload }) =>
      decoder.decode(payload, 0, payload.length),
    )
    const found = lists.flat().find(([name]) => name === 'grpc-status')
    return found && Number(found[1])
  }
}

async function expectLate(client: Client): Promise<void> {
  expect(await client.status()).toBe(Status.DEADLINE_EXCEEDED)
  expect(client.messages.held()).toBe(0)
  expect(client.peer.connection.openStreams).toBe(0)
}

test.each([
  ['half a message', HALF],
  ['a message without its end', message('x')],
  ['nothing', Buffer.alloc(0)],
])('a unary call with %s ends after 30 s', async (_what, sent) => {
  const client = new Client(echo)
  if (sent.length > 0) client.peer.write(data(1, sent))
  client.pass(ARRIVAL_MS - 1)
  expect(await client.status()).toBeUndefined()
  client.pass(1)
  await expectLate(client)
})

test('a unary call whose method takes long lives on', async () => {
  const client = new Client({ type: 'unary', handle: () => new Promise(() => undefined) })
  client.peer.write(data(1, message('x'), true))
  client.pass(10 * ARRIVAL_MS)
  expect(await client.status()).toBeUndefined()
})

const stream = (onMessage: (call: StreamCall) => void = nothing): GrpcMethod => ({
  type: 'stream',
  open: (call) => ({
    onMessage: () => onMessage(call),
    onEnd: nothing,
    onCancel: nothing,
    onDrain: nothing,
  }),
})

test.each([
  ['nothing', Buffer.alloc(0)],
  ['half of its first message', HALF],
])('a stream with %s ends 30 s after its headers', async (_what, sent) => {
  const client = new Client(stream())
  client.pass(ARRIVAL_MS - 1)
  if (sent.length > 0) client.peer.write(data(1, sent))
  expect(await client.status()).toBeUndefined()
  client.pass(1)
  await expectLate(client)
})

test('a stream that is not read yet, because its client is being authenticated, has its 30 s from then on', async () => {
  let opened: StreamCall | undefined
  const client = new Client({
    type: 'stream',
    open: (call) => {
      opened = call
      call.pause()
      return { onMessage: nothing, onEnd: nothing, onCancel: nothing, onDrain: nothing }
    },
  })
  client.pass(10 * ARRIVAL_MS)
  opened?.resume()
  client.pass(ARRIVAL_MS - 1)
  expect(await client.status()).toBeUndefined()
  client.pass(1)
  await expectLate(client)
})

test('a stream ends 30 s after the first byte of a message without its end, however slowly more comes', async () => {
  const client = new Client(stream())
  client.peer.write(data(1, message('first')))
  client.pass(10 * ARRIVAL_MS)
  client.peer.write(data(1, Buffer.concat([message('a'), HALF.subarray(0, 1)])))
  for (let at = 1; at < 30; at += 1) {
    client.pass(1_000)
    client.peer.write(data(1, HALF.subarray(at, at + 1)))
  }
  expect(client.messages.held()).toBeGreaterThan(0)
  expect(await client.status()).toBeUndefined()
  client.pass(1_000)
  await expectLate(client)
})

test('each message of a stream has its own 30 s, and time between them does not count', async () => {
  const client = new Client(stream())
  for (let at = 0; at < 5; at += 1) {
    client.peer.write(data(1, HALF))
    client.pass(ARRIVAL_MS - 1)
    const rest = message('x'.repeat(1_000)).subarray(500)
    // Together with the beginning of the next one.
    client.peer.write(data(1, Buffer.concat([rest, HALF])))
    client.pass(ARRIVAL_MS - 1)
    client.peer.write(data(1, rest))
    client.pass(10 * ARRIVAL_MS)
  }
  expect(await client.status()).toBeUndefined()
  expect(client.messages.held()).toBe(0)
})

test('while a stream is paused its client cannot send the rest, so that time does not count', async () => {
  let opened: StreamCall | undefined
  const client = new Client(
    stream((call) => {
      opened = call
      call.pause()
    }),
  )
  client.peer.write(data(1, Buffer.concat([message('a'), HALF])))
  client.pass(10 * ARRIVAL_MS)
  expect(await client.status()).toBeUndefined()
  opened?.resume()
  client.pass(ARRIVAL_MS)
  await expectLate(client)
})

describe('through a connection', () => {
  endAfterEach()

  test('calls without their message end, and the next is served', async () => {
    const messages = createHeldBytes(1024 * 1024)
    await serve({ Echo: echo, Talk: stream() }, { messages, arrivalMs: 20 })
    const outcomes = ['Echo', 'Talk', 'Nothing'].map((name) => {
      const call = open(`/a.Service/${name}`)
      call.write(HALF)
      return outcomeOf(call)
    })
    expect((await Promise.all(outcomes)).map(({ status }) => status)).toEqual([
      Status.DEADLINE_EXCEEDED,
      Status.DEADLINE_EXCEEDED,
      Status.UNIMPLEMENTED,
    ])
    expect(messages.held()).toBe(0)
    expect((await ask('/a.Service/Echo', message('small'))).content).toBe('small')
  })
})
