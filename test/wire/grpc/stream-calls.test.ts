// Bidirectional streaming calls, byte by byte over Node's HTTP/2: messages in order, one at a time, and to the end.

import { type ClientHttp2Stream, constants } from 'node:http2'
import { beforeEach, describe, expect, test } from 'vitest'
import type { GrpcMethod, StreamCall } from '../../../src/wire/grpc/service.js'
import { Status } from '../../../src/wire/grpc/status.js'
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
  session,
} from './call-client.js'

endAfterEach()

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

  test('what the client does not take waits, and onDrain is called when it has', async () => {
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
  ])('its listener is called once when the client %s', async (_how, leave) => {
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
  ])('ends, and its listener is called, when %s', async (_what, content, headers, status) => {
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
