// Calls as a gRPC client makes them, byte by byte over Node's HTTP/2: deadlines, cancellation, faults, large and broken
// messages.

import { once } from 'node:events'
import { constants } from 'node:http2'
import { describe, expect, test } from 'vitest'
import type { Call } from '../../../src/wire/grpc/service.js'
import { GrpcError, percentEncode, Status } from '../../../src/wire/grpc/status.js'
import { eventually } from '../../../testing/eventually.js'
import {
  ask,
  echo,
  endAfterEach,
  lines,
  message,
  nothing,
  open,
  outcomeOf,
  serve,
  server,
  session,
} from './call-client.js'

endAfterEach()

describe('a unary call', () => {
  test('is answered, also with a large message in many frames, both ways', async () => {
    await serve({ Echo: echo })
    expect(await ask('/a.Service/Echo', message('hello'))).toMatchObject({
      status: 0,
      content: 'hello',
    })
    const large = 'x'.repeat(3_000_000)
    expect((await ask('/a.Service/Echo', message(large))).content).toBe(large)
    expect(await ask('/a.Service/Echo', message(''))).toMatchObject({ status: 0, content: '' })
  })

  test.each<[string, Buffer, number]>([
    ['a compressed message', message('x', 1), Status.UNIMPLEMENTED],
    ['a prefix that is none', message('x', 7), Status.INTERNAL],
    ['no message', Buffer.alloc(0), Status.INTERNAL],
    ['two messages', Buffer.concat([message('a'), message('b')]), Status.INTERNAL],
    ['half a message', message('abc').subarray(0, 6), Status.INTERNAL],
    ['33 MiB', Buffer.from('000210000061', 'hex'), Status.RESOURCE_EXHAUSTED],
  ])('with %s ends with an error', async (_what, content, status) => {
    await serve({ Echo: echo })
    expect((await ask('/a.Service/Echo', content)).status).toBe(status)
    expect((await ask('/a.Service/Echo', message('well'))).content).toBe('well')
  })

  test('its handler sees its deadline, and is over when that has passed', async () => {
    const calls: Call[] = []
    await serve({
      Wait: {
        type: 'unary',
        handle: (_request, call) => {
          calls.push(call)
          return new Promise(() => {})
        },
      },
    })
    const before = Date.now()
    const outcome = await ask('/a.Service/Wait', message('x'), { 'grpc-timeout': '30m' })
    expect(outcome.status).toBe(Status.DEADLINE_EXCEEDED)
    expect(calls[0]?.deadline).toBeGreaterThanOrEqual(before + 30)
    expect(calls[0]?.isCancelled()).toBe(true)
  })

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['half a message', message('half').subarray(0, 7)],
  ])('that sends %s is over when its deadline has passed', async (_what, sent) => {
    await serve({ Echo: echo })
    const stream = open('/a.Service/Echo', { 'grpc-timeout': '30m' })
    if (sent.length > 0) stream.write(sent)
    expect((await outcomeOf(stream)).status).toBe(Status.DEADLINE_EXCEEDED)
  })

  test.each(['99999999H', '1', 'S', '-1S', '123456789S', '1x'])(
    'with a timeout of %s has no deadline',
    async (timeout) => {
      const deadlines: number[] = []
      await serve({
        Echo: {
          type: 'unary',
          handle: (request, { deadline }) => (deadlines.push(deadline), request),
        },
      })
      await ask('/a.Service/Echo', message('x'), { 'grpc-timeout': timeout })
      expect(deadlines).toEqual([Infinity])
    },
  )

  test('that its client gives up is cancelled', async () => {
    const calls: Call[] = []
    await serve({
      Wait: {
        type: 'unary',
        handle: (_request, call) => {
          calls.push(call)
          return new Promise(() => {})
        },
      },
    })
    const stream = open('/a.Service/Wait')
    stream.on('error', nothing)
    stream.end(message('x'))
    await eventually(() => expect(calls).toHaveLength(1))
    stream.close(constants.NGHTTP2_CANCEL)
    await eventually(() => expect(calls[0]?.isCancelled()).toBe(true))
  })

  test.each<[string, () => Uint8Array | Promise<Uint8Array>]>([
    [
      'throws',
      () => {
        throw new Error('a secret')
      },
    ],
    ['rejects', () => Promise.reject(new Error('a secret'))],
  ])('whose handler %s: UNKNOWN, and of the error its kind is logged', async (_how, handle) => {
    await serve({ Fail: { type: 'unary', handle } })
    const outcome = await ask('/a.Service/Fail', message('x'))
    expect(outcome).toMatchObject({ status: Status.UNKNOWN, message: 'the call failed' })
    expect(JSON.stringify(lines)).toContain('a call failed')
    expect(JSON.stringify(lines)).not.toContain('a secret')
  })

  test('ends with the status of its handler, in any text', async () => {
    const details = 'nicht gefunden: "ä\n100 %" \u{1f600}'
    await serve({
      Fail: {
        type: 'unary',
        handle: () => Promise.reject(new GrpcError(Status.NOT_FOUND, details)),
      },
    })
    expect(await ask('/a.Service/Fail', message('x'))).toMatchObject({
      status: Status.NOT_FOUND,
      message: details,
    })
  })
})

describe('a call', () => {
  test('of no method is UNIMPLEMENTED; what is no gRPC gets 415', async () => {
    await serve({ Echo: echo })
    expect((await ask('/a.Service/Other', message('x'))).status).toBe(Status.UNIMPLEMENTED)
    for (const headers of [
      { ':method': 'GET', ':path': '/a.Service/Echo' },
      { ':method': 'POST', ':path': '/a.Service/Echo', 'content-type': 'application/json' },
    ]) {
      const stream = session.request(headers)
      stream.end()
      const [response] = (await once(stream, 'response')) as [Record<string, unknown>]
      expect(response[':status']).toBe(415)
      stream.resume()
      await once(stream, 'close')
    }
  })

  test('has its metadata, each value of a name', async () => {
    let seen: readonly string[] = []
    await serve({
      Echo: { type: 'unary', handle: (request, call) => ((seen = call.metadata('x-a')), request) },
    })
    await ask('/a.Service/Echo', message('x'), { 'x-a': '1', 'X-B': '2' })
    expect(seen).toEqual(['1'])
  })

  test('1,500 at once over a fresh connection are all answered', async () => {
    const waiting: (() => void)[] = []
    await serve({
      Wait: {
        type: 'unary',
        handle: (request) => new Promise((resolve) => waiting.push(() => resolve(request))),
      },
    })
    await once(session, 'remoteSettings')
    const calls = Array.from({ length: 1_500 }, () => ask('/a.Service/Wait', message('x')))
    await eventually(() => expect(waiting).toHaveLength(1_500))
    for (const answer of waiting) answer()
    expect((await Promise.all(calls)).every(({ status }) => status === 0)).toBe(true)
  })
})

test('10,000 calls that their client resets leave the connection alone', async () => {
  await serve({ Echo: echo })
  expect((await ask('/a.Service/Echo', message('x'))).status).toBe(0)
  let goneAway = false
  session.on('goaway', () => (goneAway = true))
  for (let at = 0; at < 10_000; at++) {
    const stream = open('/a.Service/Echo')
    stream.on('error', nothing)
    stream.close(constants.NGHTTP2_CANCEL)
    if (at % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  expect((await ask('/a.Service/Echo', message('x'))).status).toBe(0)
  expect(goneAway).toBe(false)
})

test('a connection that has ended leaves nothing waiting', async () => {
  let called = false
  await serve({ Never: { type: 'unary', handle: () => ((called = true), new Promise(() => {})) } })
  const stream = open('/a.Service/Never')
  stream.on('error', nothing)
  stream.end(message('x'))
  await eventually(() => expect(called).toBe(true))
  const closed = once(stream, 'close')
  await server.drain(50)
  await closed
})

test('details of a status are percent-encoded', () => {
  expect(percentEncode('a %\n')).toBe('a %25%0A')
  expect(percentEncode('ä')).toBe('%C3%A4')
})
