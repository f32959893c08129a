// An HTTP/2 connection from a client's point of view: what it serves, and the errors it answers with.

import { describe, expect, test } from 'vitest'
import { MAX_CONCURRENT_STREAMS } from '../../../src/wire/http2/connection.js'
import {
  ErrorCode,
  FrameFlag,
  FrameType,
  PREFACE,
  Setting,
} from '../../../src/wire/http2/protocol.js'
import { type Stream } from '../../../src/wire/http2/stream.js'
import {
  contentOf,
  data,
  frame,
  handler,
  headers,
  ping,
  RawPeer,
  REQUEST,
  rst,
  settings,
  uint32,
  windowUpdate,
} from './raw-peer.js'

describe('a request', () => {
  test('is answered, in any pieces of its bytes', async () => {
    const peer = new RawPeer()
    const bytes = Buffer.concat([
      PREFACE,
      settings(),
      headers(1),
      data(1, 'hel'),
      data(1, 'lo', true),
    ])
    for (const byte of bytes) peer.write(Buffer.of(byte))
    expect(await contentOf(peer, 1)).toBe('hello')
  })

  test('may come in CONTINUATION frames, with padding and priority', async () => {
    const peer = new RawPeer().greet()
    const block = headers(1).subarray(9)
    peer.write(
      frame(
        FrameType.HEADERS,
        FrameFlag.PADDED | FrameFlag.PRIORITY,
        1,
        Buffer.concat([
          Buffer.of(2),
          uint32(0),
          Buffer.of(7),
          block.subarray(0, 4),
          Buffer.alloc(2),
        ]),
      ),
      frame(FrameType.CONTINUATION, 0, 1, block.subarray(4, 5)),
      frame(FrameType.CONTINUATION, FrameFlag.END_HEADERS, 1, block.subarray(5)),
      frame(
        FrameType.DATA,
        FrameFlag.PADDED | FrameFlag.END_STREAM,
        1,
        Buffer.concat([Buffer.of(3), Buffer.from('text'), Buffer.alloc(3)]),
      ),
    )
    expect(await contentOf(peer, 1)).toBe('text')
  })

  test('all that is answered in one tick leaves in one piece', async () => {
    const peer = new RawPeer().greet()
    await peer.frames()
    peer.writes = 0
    const requests = [1, 3, 5].flatMap((id) => [headers(id), data(id, String(id), true)])
    peer.write(...requests)
    const answers = await peer.frames()
    expect(answers.map(({ streamId }) => streamId)).toEqual([1, 1, 1, 3, 3, 3, 5, 5, 5])
    expect(peer.writes).toBe(1)
  })

  test('and so does what answers the requests of one tick later', async () => {
    const opened: Stream[] = []
    const peer = new RawPeer((_head, stream) => {
      opened.push(stream)
      return handler()
    }).greet(headers(1, { end: true }), headers(3, { end: true }))
    await peer.frames()
    peer.writes = 0
    for (const stream of opened) stream.respond(Buffer.of(0x88), true)
    expect((await peer.frames()).map(({ streamId }) => streamId)).toEqual([1, 3])
    expect(peer.writes).toBe(1)
  })

  test('an unknown frame type and an unknown setting are ignored', async () => {
    const peer = new RawPeer().greet(settings([0xff, 1]), frame(0x20, 0, 1, Buffer.from('x')))
    peer.write(headers(1), data(1, 'well', true))
    expect(await contentOf(peer, 1)).toBe('well')
  })
})

describe('an error of the connection', () => {
  const after = async (...frames: readonly Buffer[]): Promise<number | undefined> => {
    const peer = new RawPeer().greet(...frames)
    expect(peer.faults).toEqual([])
    const code = await peer.goAwayCode()
    expect(peer.ending).toBe(code === undefined ? 'open' : 'closed')
    return code
  }

  test.each([
    ['DATA on no stream', [data(0, 'x')], ErrorCode.PROTOCOL_ERROR],
    ['DATA on an idle stream', [data(1, 'x')], ErrorCode.PROTOCOL_ERROR],
    ['RST_STREAM on an idle stream', [rst(1)], ErrorCode.PROTOCOL_ERROR],
    ['WINDOW_UPDATE on an idle stream', [windowUpdate(1, 1)], ErrorCode.PROTOCOL_ERROR],
    ['WINDOW_UPDATE by nothing', [windowUpdate(0, 0)], ErrorCode.PROTOCOL_ERROR],
    ['a window above 2^31-1', [windowUpdate(0, 2 ** 31 - 1)], ErrorCode.FLOW_CONTROL_ERROR],
    ['an even stream', [headers(2)], ErrorCode.PROTOCOL_ERROR],
    [
      'a stream below the last one',
      [headers(3, { end: true }), headers(1)],
      ErrorCode.STREAM_CLOSED,
    ],
    ['PUSH_PROMISE', [frame(FrameType.PUSH_PROMISE, 0, 1)], ErrorCode.PROTOCOL_ERROR],
    ['PING of seven bytes', [ping('1234567')], ErrorCode.FRAME_SIZE_ERROR],
    [
      'SETTINGS of five bytes',
      [frame(FrameType.SETTINGS, 0, 0, Buffer.alloc(5))],
      ErrorCode.FRAME_SIZE_ERROR,
    ],
    ['ENABLE_PUSH of 2', [settings([Setting.ENABLE_PUSH, 2])], ErrorCode.PROTOCOL_ERROR],
    [
      'INITIAL_WINDOW_SIZE of 2^31',
      [settings([Setting.INITIAL_WINDOW_SIZE, 2 ** 31])],
      ErrorCode.FLOW_CONTROL_ERROR,
    ],
    ['MAX_FRAME_SIZE of 1', [settings([Setting.MAX_FRAME_SIZE, 1])], ErrorCode.PROTOCOL_ERROR],
    ['a frame above the maximum size', [data(1, Buffer.alloc(16_385))], ErrorCode.FRAME_SIZE_ERROR],
    ['CONTINUATION of nothing', [frame(FrameType.CONTINUATION, 4, 1)], ErrorCode.PROTOCOL_ERROR],
    [
      'a frame within a header block',
      [frame(FrameType.HEADERS, 0, 1), ping()],
      ErrorCode.PROTOCOL_ERROR,
    ],
    [
      'a header block that cannot be read',
      [frame(FrameType.HEADERS, 4, 1, Buffer.of(0x80))],
      ErrorCode.COMPRESSION_ERROR,
    ],
    [
      'padding longer than its frame',
      [headers(1), frame(FrameType.DATA, 8, 1, Buffer.of(9, 0))],
      ErrorCode.PROTOCOL_ERROR,
    ],
  ])('%s', async (_what, frames, code) => {
    expect(await after(...frames)).toBe(code)
  })

  test('no preface, and no SETTINGS after it', async () => {
    const wrong = new RawPeer()
    wrong.write(Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n'))
    expect(await wrong.goAwayCode()).toBe(ErrorCode.PROTOCOL_ERROR)
    const without = new RawPeer()
    without.write(PREFACE, headers(1))
    expect(await without.goAwayCode()).toBe(ErrorCode.PROTOCOL_ERROR)
  })
})

describe('an error of a stream', () => {
  const malformed = (...more: readonly (readonly [string, string])[]): Buffer =>
    headers(1, { end: true, fields: [...REQUEST, ...more] })

  test.each([
    ['an upper-case name', malformed(['X-A', '1'])],
    ['a pseudo-header field after others', malformed(['x-a', '1'], [':path', '/'])],
    ['an unknown pseudo-header field', malformed([':x', '1'])],
    ['a pseudo-header field twice', malformed([':path', '/b'])],
    ['a line break in a value', malformed(['x-a', 'a\nb'])],
    ['a blank before a value', malformed(['x-a', ' a'])],
    ['a field of a connection of HTTP/1.1', malformed(['connection', 'close'])],
    ['te other than trailers', malformed(['te', 'gzip'])],
    ['content that is not there', malformed(['content-length', '1'])],
    ['two lengths', malformed(['content-length', '0'], ['content-length', '1'])],
    ['no path', headers(1, { fields: REQUEST.slice(0, 2) })],
    ['an empty path', headers(1, { fields: [...REQUEST.slice(0, 2), [':path', '']] })],
  ])('%s: PROTOCOL_ERROR, and the next one is served', async (_what, request) => {
    const peer = new RawPeer().greet(request)
    const sent = await peer.of(FrameType.RST_STREAM)
    expect(sent.map(({ streamId, payload }) => [streamId, payload.readUInt32BE(0)])).toEqual([
      [1, ErrorCode.PROTOCOL_ERROR],
    ])
    peer.write(headers(3), data(3, 'well', true))
    expect(await contentOf(peer, 3)).toBe('well')
  })

  test('DATA beyond the window of a stream: FLOW_CONTROL_ERROR, and its handler is called', async () => {
    let resets = 0
    const peer = new RawPeer(() => handler({ onReset: () => (resets += 1) })).greet(headers(1))
    for (let sent = 0; sent < 5; sent++) peer.write(data(1, Buffer.alloc(16_384)))
    const [reset] = await peer.of(FrameType.RST_STREAM)
    expect(reset?.payload.readUInt32BE(0)).toBe(ErrorCode.FLOW_CONTROL_ERROR)
    expect(resets).toBe(1)
    expect(peer.ending).toBe('open')
  })

  test('trailers without END_STREAM, or with a pseudo-header field', async () => {
    const codes = []
    for (const trailers of [
      headers(1, { fields: [['x-a', '1']] }),
      headers(1, { end: true, fields: [[':path', '/']] }),
    ]) {
      const [reset] = await new RawPeer()
        .greet(headers(1), data(1, 'x'), trailers)
        .of(FrameType.RST_STREAM)
      codes.push(reset?.payload.readUInt32BE(0))
    }
    expect(codes).toEqual([ErrorCode.PROTOCOL_ERROR, ErrorCode.PROTOCOL_ERROR])
  })

  test('more streams than are allowed are refused, and may be opened again later', async () => {
    const streams: Stream[] = []
    const open = (_head: unknown, stream: Stream) => {
      streams.push(stream)
      return handler()
    }
    const peer = new RawPeer(open).greet()
    for (let at = 0; at <= MAX_CONCURRENT_STREAMS; at++)
      peer.write(headers(2 * at + 1, { end: true }))
    const last = 2 * MAX_CONCURRENT_STREAMS + 1
    expect(
      (await peer.of(FrameType.RST_STREAM)).map((sent) => [
        sent.streamId,
        sent.payload.readUInt32BE(0),
      ]),
    ).toEqual([[last, ErrorCode.REFUSED_STREAM]])
    expect(MAX_CONCURRENT_STREAMS).toBeGreaterThanOrEqual(1_024)
    streams[0]?.reset(ErrorCode.CANCEL)
    peer.write(headers(last + 2, { end: true }))
    expect(streams).toHaveLength(MAX_CONCURRENT_STREAMS + 1)
  })

  test('frames that were on their way when a stream was closed here are ignored', async () => {
    const peer = new RawPeer((_head, stream) => {
      stream.reset(ErrorCode.CANCEL)
      return handler()
    }).greet(headers(1))
    peer.write(
      headers(1, { end: true, fields: [['x-a', '1']] }),
      data(1, 'x'),
      windowUpdate(1, 5),
      rst(1),
    )
    const sent = await peer.frames()
    expect(sent.filter(({ type }) => type === FrameType.RST_STREAM)).toHaveLength(1)
    expect(sent.filter(({ type }) => type === FrameType.GOAWAY)).toEqual([])
    expect(peer.ending).toBe('open')
  })
})

test('an internal fault ends the connection, and is reported', async () => {
  const peer = new RawPeer(() => {
    throw new Error('a bug')
  }).greet(headers(1))
  expect(await peer.goAwayCode()).toBe(ErrorCode.INTERNAL_ERROR)
  expect(peer.faults).toHaveLength(1)
})

test('when the socket is gone, every handler is called once', () => {
  let resets = 0
  const peer = new RawPeer(() => handler({ onReset: () => (resets += 1) }))
  peer.greet(headers(1), headers(3), rst(1))
  peer.connection.onClose()
  peer.connection.onClose()
  expect(resets).toBe(2)
})
