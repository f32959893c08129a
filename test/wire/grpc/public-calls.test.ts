// Calls of clients of which nothing is known: they hold nothing of the budget that all connections share.

import { once } from 'node:events'
import { type ClientHttp2Stream, constants } from 'node:http2'
import { beforeEach, expect, test } from 'vitest'
import { createHeldBytes, type HeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { Status } from '../../../src/wire/grpc/status.js'
import { eventually } from '../../../testing/eventually.js'
import { ask, echo, endAfterEach, message, open, outcomeOf, serve } from './call-client.js'

const HEALTH = '/grpc.health.v1.Health'
const LARGE = { 'x-large': 'x'.repeat(12_000) }
/** A HealthCheckRequest without fields: for the server as a whole. */
const ALL = message('')
const MOST = 64

let messages: HeldBytes

endAfterEach()

beforeEach(async () => {
  messages = createHeldBytes(256 * 1024)
  await serve({ Echo: echo }, { messages })
})

function call(path: string, sent: Buffer): ClientHttp2Stream {
  const stream = open(path, LARGE)
  stream.on('error', () => undefined)
  stream.write(sent)
  return stream
}

const watchers = (count: number): Promise<ClientHttp2Stream[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const stream = call(`${HEALTH}/Watch`, ALL)
      await once(stream, 'data')
      return stream
    }),
  )

/** Waits until the server has read all that was sent before. */
const settled = async (): Promise<void> => void (await ask('/a.Service/Echo', message('')))

test.each(['Health/Watch', 'Health/Check', 'No/Such'])(
  'the headers of open calls of %s do not count',
  async (name) => {
    const calls = Array.from({ length: 40 }, () => {
      const stream = open(`/grpc.health.v1.${name}`, LARGE)
      stream.on('error', () => undefined)
      return stream
    })
    await settled()
    expect(messages.held()).toBe(0)
    expect(calls.every(({ closed }) => !closed)).toBe(true)
  },
)

test('watchers that have sent their message hold nothing of the budget, however long they stay', async () => {
  const open = await watchers(40)
  expect(messages.held()).toBe(0)
  expect((await ask('/a.Service/Echo', message('small'), LARGE)).content).toBe('small')
  expect(open.every(({ closed }) => !closed)).toBe(true)
})

test('one connection has so many of them, and others in the place of those that are over', async () => {
  const [first] = await watchers(MOST)
  const refused = { status: Status.RESOURCE_EXHAUSTED }
  expect(await ask(`${HEALTH}/Watch`, ALL)).toMatchObject(refused)
  expect(await ask(`${HEALTH}/Check`, ALL)).toMatchObject(refused)
  expect((await ask('/a.Service/Echo', message('small'))).content).toBe('small')
  first?.close()
  await settled()
  expect(await ask(`${HEALTH}/Check`, ALL)).toMatchObject({ status: Status.OK })
})

test('their unfinished messages hold little, and nothing of the budget', async () => {
  const half = message(Buffer.alloc(40_000)).subarray(0, 30_000)
  const first = call(`${HEALTH}/Check`, half)
  await settled()
  expect(messages.held()).toBe(0)
  const refused = call(`${HEALTH}/Watch`, message(Buffer.alloc(80_000)).subarray(0, 60_000))
  expect(await outcomeOf(refused)).toMatchObject({ status: Status.RESOURCE_EXHAUSTED })
  expect(first.closed).toBe(false)
  // What clients of gRPC send. With NO_ERROR, close() of Node 22.19 does not return and takes all memory.
  first.close(constants.NGHTTP2_CANCEL)
  await eventually(async () =>
    expect(await ask(`${HEALTH}/Check`, ALL)).toMatchObject({ status: Status.OK }),
  )
})
