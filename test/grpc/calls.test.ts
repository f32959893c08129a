// Calls as a client of gRPC makes them, byte by byte over Node's HTTP/2: deadlines, cancellation, faults, large and broken messages.

import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type GrpcServer, startGrpcServer } from '../../src/grpc/server.js'
import type { Call, GrpcMethod, StreamCall } from '../../src/grpc/service.js'
import { GrpcError, percentEncode, Status } from '../../src/grpc/status.js'
import { ANY_PORT } from '../support/any-port.js'
import { eventually } from '../support/eventually.js'
import { recordingLogger } from './recording-logger.js'

let server: GrpcServer
let session: ClientHttp2Session
const { logger, lines } = recordingLogger()

async function serve(methods: Readonly<Record<string, GrpcMethod>>): Promise<void> {
  lines.length = 0
  server = await startGrpcServer({
    address: ANY_PORT,
    services: [{ name: 'a.Service', methods }],
    logger,
  })
  session = connect(`http://${server.address}`)
}

afterEach(async () => {
  session.destroy()
  await server.close()
})

function message(content: string | Buffer, compressed = 0): Buffer {
  const bytes = Buffer.from(content)
  const prefix = Buffer.alloc(5)
  prefix[0] = compressed
  prefix.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([prefix, bytes])
}

const open = (path: string, more: Readonly<Record<string, string>> = {}): ClientHttp2Stream =>
  session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  })

interface Outcome {
  readonly status: number
  readonly message: string | undefined
  readonly content: string
}

async function outcomeOf(stream: ClientHttp2Stream): Promise<Outcome> {
  let fields: Readonly<Record<string, unknown>> = {}
  const parts: Buffer[] = []
  stream.on('response', (headers: object) => (fields = { ...fields, ...headers }))
  stream.on('trailers', (headers: object) => (fields = { ...fields, ...headers }))
  stream.on('data', (chunk: Buffer) => parts.push(chunk))
  stream.on('error', () => {})
  await once(stream, 'close')
  const said = fields['grpc-message']
  return {
    status: Number(fields['grpc-status']),
    message: typeof said === 'string' ? decodeURIComponent(said) : undefined,
    content: Buffer.concat(parts).subarray(5).toString(),
  }
}

function ask(path: string, content: Buffer, more = {}): Promise<Outcome> {
  const stream = open(path, more)
  stream.end(content)
  return outcomeOf(stream)
}

const nothing = (): void => undefined
const echo: GrpcMethod = { type: 'unary', handle: (request) => request }

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

  test('ends as its handler says, in words of any kind', async () => {
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

describe('a stream', () => {
  // Of one test each: what becomes of the streams of the one before may be told late.
  let opened: StreamCall[] = []
  let received: string[] = []
  let ends: string[] = []
  const method = (onMessage: (text: string, call: StreamCall) => void): GrpcMethod => ({
    type: 'stream',
    open: (call) => {
      const [messages, told] = [received, ends]
      opened.push(call)
      return {
        onMessage: (bytes) => {
          messages.push(bytes.toString())
          onMessage(bytes.toString(), call)
        },
        onEnd: () => told.push('end'),
        onCancel: () => told.push('cancel'),
        onDrain: () => told.push('drain'),
      }
    },
  })
  beforeEach(() => {
    opened = []
    received = []
    ends = []
  })

  test('messages come one by one, however they were cut, and none while it is paused', async () => {
    await serve({ Talk: method((_text, call) => call.pause()) })
    const stream = open('/a.Service/Talk')
    const all = Buffer.concat(['a', 'bb', 'ccc'].map((text) => message(text)))
    for (const byte of all) stream.write(Buffer.of(byte))
    stream.end()
    for (const upTo of [1, 2, 3]) {
      await eventually(() => expect(received).toHaveLength(upTo))
      expect(ends).toEqual([])
      opened[0]?.resume()
    }
    expect(received).toEqual(['a', 'bb', 'ccc'])
    await eventually(() => expect(ends).toEqual(['end']))
    opened[0]?.end()
    expect((await outcomeOf(stream)).status).toBe(0)
  })

  test('whose listener throws when its deadline has passed is over, and nothing else is', async () => {
    await serve({
      Talk: {
        type: 'stream',
        open: () => ({
          onMessage: nothing,
          onEnd: nothing,
          onDrain: nothing,
          onCancel: () => {
            throw new Error('a fault of ours')
          },
        }),
      },
      Echo: echo,
    })
    const outcome = await outcomeOf(open('/a.Service/Talk', { 'grpc-timeout': '10m' }))
    expect(outcome.status).toBe(Status.DEADLINE_EXCEEDED)
    expect(lines.map((line) => line.message)).toEqual(['a call failed'])
    expect((await ask('/a.Service/Echo', message('x'))).status).toBe(0)
  })

  test('a message larger than the window comes whole; paused, the client is held back', async () => {
    await serve({ Talk: method((_text, call) => call.pause()) })
    const stream = open('/a.Service/Talk')
    const large = 'x'.repeat(1_000_000)
    stream.write(message(large))
    stream.write(message(large))
    await eventually(() => expect(received).toEqual([large]))
    expect(stream.writableLength).toBeGreaterThan(900_000)
    opened[0]?.resume()
    await eventually(() => expect(received).toEqual([large, large]))
    stream.close()
  })

  test('what the client does not take waits, and onDrain says when it has', async () => {
    await serve({ Talk: method(nothing) })
    const stream = open('/a.Service/Talk')
    stream.pause()
    stream.write(message('x'))
    await eventually(() => expect(received).toEqual(['x']))
    let sent = 0
    while (opened[0]?.send(Buffer.alloc(60_000)) === true) sent += 1
    expect(sent).toBeLessThan(20)
    expect(ends).toEqual([])
    stream.resume()
    await eventually(() => expect(ends).toEqual(['drain']))
    opened[0]?.end()
    expect((await outcomeOf(stream)).status).toBe(0)
  })

  test.each<[string, (stream: ClientHttp2Stream) => void]>([
    ['resets it', (stream) => stream.close(constants.NGHTTP2_CANCEL)],
    ['goes away', () => session.destroy()],
  ])('its listener is told, once, when the client %s', async (_how, leave) => {
    await serve({ Talk: method(nothing) })
    const stream = open('/a.Service/Talk')
    stream.on('error', nothing)
    session.on('error', nothing)
    stream.write(message('x'))
    await eventually(() => expect(received).toEqual(['x']))
    leave(stream)
    // Node ends what it resets.
    const cancels = (): readonly string[] => ends.filter((end) => end === 'cancel')
    await eventually(() => expect(cancels()).toEqual(['cancel']))
    expect(opened[0]?.isCancelled()).toBe(true)
    expect(opened[0]?.send(Buffer.from('late'))).toBe(true)
    opened[0]?.end()
    expect(cancels()).toEqual(['cancel'])
  })

  test.each<[string, Buffer, Record<string, string>, number]>([
    ['a deadline passes', message('x'), { 'grpc-timeout': '20m' }, Status.DEADLINE_EXCEEDED],
    ['a message is compressed', message('x', 1), {}, Status.UNIMPLEMENTED],
    ['a message is too large', Buffer.from('0002100000', 'hex'), {}, Status.RESOURCE_EXHAUSTED],
    ['a listener throws', message('throw'), {}, Status.UNKNOWN],
  ])('ends, and its listener is told, when %s', async (_what, content, headers, status) => {
    await serve({
      Talk: method((text) => {
        if (text === 'throw') throw new Error('a bug')
      }),
    })
    const stream = open('/a.Service/Talk', headers)
    stream.write(content)
    expect((await outcomeOf(stream)).status).toBe(status)
    expect(ends).toEqual(['cancel'])
  })
})

test('a connection that has ended leaves nothing waiting', async () => {
  let called = false
  await serve({ Never: { type: 'unary', handle: () => ((called = true), new Promise(() => {})) } })
  const stream = open('/a.Service/Never')
  stream.on('error', nothing)
  stream.end(message('x'))
  await eventually(() => expect(called).toBe(true))
  await server.drain(50)
  await once(stream, 'close')
})

test('details of a status are percent-encoded', () => {
  expect(percentEncode('a %\n')).toBe('a %25%0A')
  expect(percentEncode('ä')).toBe('%C3%A4')
})
