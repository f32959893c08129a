// A connection of HTTP/2 as a client meets it: what it serves, what it refuses and by which error, what it costs.

import { describe, expect, test, vi } from 'vitest'
import { MAX_CONCURRENT_STREAMS } from '../../src/http2/connection.js'
import { ErrorCode, FrameFlag, FrameType, PREFACE, Setting } from '../../src/http2/protocol.js'
import { Stream } from '../../src/http2/stream.js'
import {
  data,
  frame,
  goAway,
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

const content = async (peer: RawPeer, streamId: number): Promise<string> =>
  Buffer.concat(
    (await peer.of(FrameType.DATA))
      .filter((sent) => sent.streamId === streamId)
      .map(({ payload }) => payload),
  ).toString()

describe('a request', () => {
  test('is answered, in whatever pieces its bytes come', async () => {
    const peer = new RawPeer()
    const bytes = Buffer.concat([
      PREFACE,
      settings(),
      headers(1),
      data(1, 'hel'),
      data(1, 'lo', true),
    ])
    for (const byte of bytes) peer.write(Buffer.of(byte))
    expect(await content(peer, 1)).toBe('hello')
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
    expect(await content(peer, 1)).toBe('text')
  })

  test('all that is answered in one tick leaves in one piece', async () => {
    const peer = new RawPeer().greet()
    await peer.frames()
    const requests = [1, 3, 5].flatMap((id) => [headers(id), data(id, String(id), true)])
    peer.write(...requests)
    const answers = await peer.frames()
    expect(answers.map(({ streamId }) => streamId)).toEqual([1, 1, 1, 3, 3, 3, 5, 5, 5])
  })

  test('an unknown frame type and an unknown setting are ignored', async () => {
    const peer = new RawPeer().greet(settings([0xff, 1]), frame(0x20, 0, 1, Buffer.from('x')))
    peer.write(headers(1), data(1, 'well', true))
    expect(await content(peer, 1)).toBe('well')
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
    expect(await content(peer, 3)).toBe('well')
  })

  test('DATA beyond the window of a stream: FLOW_CONTROL_ERROR, and its handler is told', async () => {
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

describe('floods', () => {
  test.each([
    ['PING', () => ping()],
    ['SETTINGS', () => settings()],
    ['PRIORITY', () => frame(FrameType.PRIORITY, 0, 3, Buffer.alloc(5))],
    ['empty DATA', () => data(1, '')],
    [
      'DATA of nothing but padding',
      () => frame(FrameType.DATA, FrameFlag.PADDED, 1, Buffer.from([1, 0])),
    ],
  ])('of %s: ENHANCE_YOUR_CALM above 100 in 10 s', async (_what, flood) => {
    const peer = new RawPeer(() => handler()).greet(headers(1))
    for (let sent = 0; sent < 99; sent++) peer.write(flood())
    expect(peer.ending).toBe('open')
    peer.clock += 10_001
    for (let sent = 0; sent < 100; sent++) peer.write(flood())
    expect(peer.ending).toBe('open')
    peer.write(flood())
    expect(await peer.goAwayCode()).toBe(ErrorCode.ENHANCE_YOUR_CALM)
  })

  test('a client that measures its line by a PING with each answer is none', async () => {
    const peer = new RawPeer().greet()
    for (let id = 1; id < 1_000; id += 2) peer.write(headers(id), data(id, 'x', true), ping())
    expect(await peer.goAwayCode()).toBeUndefined()
  })

  test('a client that sends SETTINGS with each answer is one', async () => {
    const peer = new RawPeer().greet()
    for (let id = 1; id < 300; id += 2) peer.write(headers(id), data(id, 'x', true), settings())
    expect(await peer.goAwayCode()).toBe(ErrorCode.ENHANCE_YOUR_CALM)
  })

  test('a header block above 64 KiB, in one frame after the other, and a list that a small block unfolds to', async () => {
    const peer = new RawPeer().greet(frame(FrameType.HEADERS, 0, 1, Buffer.alloc(16_000)))
    for (let sent = 0; sent < 4; sent++)
      peer.write(frame(FrameType.CONTINUATION, 0, 1, Buffer.alloc(16_000)))
    expect(await peer.goAwayCode()).toBe(ErrorCode.ENHANCE_YOUR_CALM)

    const bomb = Buffer.concat([
      Buffer.from('40016' + '17fa11e', 'hex'),
      Buffer.alloc(4_000, 0x61),
      Buffer.alloc(1_000, 0xbe),
    ])
    const unfolding = new RawPeer().greet(frame(FrameType.HEADERS, FrameFlag.END_HEADERS, 1, bomb))
    expect(await unfolding.goAwayCode()).toBe(ErrorCode.ENHANCE_YOUR_CALM)
  })

  test('small blocks that unfold to large header lists are refused above 16 MiB of all open streams', async () => {
    const fields = [...REQUEST, ['x-large', 'x'.repeat(15_000)]] as const
    const peer = new RawPeer(() => handler()).greet()
    for (let id = 1; id < 4_000; id += 2) peer.write(headers(id, { fields }))
    const refused = await peer.of(FrameType.RST_STREAM)
    expect(new Set(refused.map(({ payload }) => payload.readUInt32BE(0)))).toEqual(
      new Set([ErrorCode.REFUSED_STREAM]),
    )
    const open = peer.connection.openStreams
    expect(open).toBeGreaterThan(1_024)
    expect(open * 15_000).toBeLessThan(16 * 1024 * 1024)
    expect(refused).toHaveLength(2_000 - open)
    for (let id = 1; id < 2_000; id += 2) peer.write(rst(id))
    for (let id = 4_001; id < 6_001; id += 2) peer.write(headers(id, { fields }))
    expect(peer.connection.openStreams).toBe(open)
    expect(await peer.of(FrameType.RST_STREAM)).toEqual([])
  })

  test('a frame full of INITIAL_WINDOW_SIZE looks at each stream once, and the last one counts', async () => {
    const streams: Stream[] = []
    const peer = new RawPeer((_head, stream) => {
      streams.push(stream)
      return handler()
    }).greet()
    for (let id = 1; id < 200; id += 2) peer.write(headers(id, { end: true }))
    const looks = vi.spyOn(Stream.prototype, 'growWindow')
    const sizes = Array.from(
      { length: 2_700 },
      (_, at) => [Setting.INITIAL_WINDOW_SIZE, at] as const,
    )
    peer.write(settings(...sizes, [Setting.INITIAL_WINDOW_SIZE, 3]))
    expect(looks.mock.calls.length).toBeLessThanOrEqual(100)
    looks.mockRestore()
    streams[0]?.send(Buffer.alloc(0), Buffer.alloc(10))
    expect((await peer.of(FrameType.DATA)).map(({ payload }) => payload.length)).toEqual([3])
  })

  test('100,000 resets in a row leave the connection as it was', async () => {
    let open = 0
    const peer = new RawPeer(() => {
      open += 1
      return handler({ onReset: () => (open -= 1) })
    }).greet()
    for (let at = 0; at < 100_000; at++) peer.write(headers(2 * at + 1), rst(2 * at + 1))
    expect(open).toBe(0)
    expect(peer.connection.openStreams).toBe(0)
    peer.write(headers(200_001), data(200_001, 'x', true))
    expect(await peer.goAwayCode()).toBeUndefined()
  })
})

describe('windows', () => {
  const big = (size: number) => (_head: unknown, stream: Stream) =>
    handler({
      onEnd: () => {
        stream.respond(Buffer.of(0x88))
        stream.send(Buffer.from('prefix'), Buffer.alloc(size, 'x'))
        stream.end(Buffer.of(0x88))
      },
    })
  const lengths = async (peer: RawPeer): Promise<readonly number[]> =>
    (await peer.of(FrameType.DATA)).map(({ payload }) => payload.length)

  test('what does not fit waits, and leaves as the windows grow', async () => {
    const peer = new RawPeer(big(100_000)).greet(headers(1, { end: true }))
    const first = await lengths(peer)
    expect(first).toEqual([16_384, 16_384, 16_384, 16_383])
    peer.write(windowUpdate(1, 100_000))
    expect(await lengths(peer)).toEqual([])
    peer.write(windowUpdate(0, 10))
    expect(await lengths(peer)).toEqual([10])
    peer.write(windowUpdate(0, 100_000))
    const sent = await peer.frames()
    expect(sent.at(-1)).toMatchObject({
      type: FrameType.HEADERS,
      flags: FrameFlag.END_HEADERS | FrameFlag.END_STREAM,
    })
    expect(peer.connection.openStreams).toBe(0)
  })

  test('INITIAL_WINDOW_SIZE concerns streams that are open, also below nothing', async () => {
    const peer = new RawPeer(big(70_000)).greet(
      headers(1, { end: true }),
      windowUpdate(0, 1_000_000),
    )
    await peer.frames()
    peer.write(settings([Setting.INITIAL_WINDOW_SIZE, 0]), windowUpdate(1, 65_535))
    expect(await lengths(peer)).toEqual([])
    peer.write(windowUpdate(1, 7))
    expect(await lengths(peer)).toEqual([7])
  })

  test('streams take turns', async () => {
    const peer = new RawPeer(big(200_000)).greet(settings([Setting.INITIAL_WINDOW_SIZE, 300_000]))
    peer.write(headers(1, { end: true }), headers(3, { end: true }))
    await peer.frames()
    peer.write(windowUpdate(0, 65_536))
    const turns = (await peer.of(FrameType.DATA)).map(({ streamId }) => streamId)
    expect(turns.filter((id) => id === 3).length).toBe(2)
  })

  test('that of the connection is given back, whatever the streams do with what came', async () => {
    const peer = new RawPeer(() => handler()).greet()
    let allowed = 65_535
    let sent = 0
    for (let id = 1; id < 20_000; id += 2) {
      for (const { streamId, payload } of await peer.of(FrameType.WINDOW_UPDATE))
        if (streamId === 0) allowed += payload.readUInt32BE(0)
      peer.write(headers(id), data(id, Buffer.alloc(16_384)), rst(id))
      sent += 16_384
      if (sent > allowed) throw new Error('the client may not send this')
    }
    expect(peer.ending).toBe('open')
  })

  test('what was not taken holds the client back', async () => {
    let stream: Stream | undefined
    const peer = new RawPeer((_head, opened) => {
      stream = opened
      return handler()
    }).greet(headers(1), data(1, Buffer.alloc(16_384)), data(1, Buffer.alloc(16_384)))
    const updates = async (): Promise<readonly number[]> =>
      (await peer.of(FrameType.WINDOW_UPDATE))
        .filter(({ streamId }) => streamId === 1)
        .map(({ payload }) => payload.readUInt32BE(0))
    expect(await updates()).toEqual([])
    stream?.consume(32_768)
    expect(await updates()).toEqual([32_768])
  })
})

describe('the peer', () => {
  test('that has said nothing for 30 s is asked, and is gone after 10 s more', async () => {
    const peer = new RawPeer().greet()
    await peer.frames()
    peer.clock = 30_001
    peer.connection.tick()
    expect(await peer.of(FrameType.PING)).toHaveLength(1)
    peer.clock = 40_000
    peer.connection.tick()
    expect(peer.ending).toBe('open')
    peer.clock = 40_002
    peer.connection.tick()
    expect(peer.ending).toBe('destroyed')
  })

  test('that answers lives for a day with nothing else to say, and so does one that asks each second', async () => {
    const peer = new RawPeer().greet()
    for (; peer.clock < 86_400_000; peer.clock += 1_000) {
      peer.connection.tick()
      if (peer.clock % 10_000 === 0)
        for (const { flags, payload } of await peer.of(FrameType.PING))
          if ((flags & FrameFlag.ACK) === 0)
            peer.write(frame(FrameType.PING, FrameFlag.ACK, 0, payload))
      if (peer.clock > 43_200_000) peer.write(ping())
    }
    expect(peer.ending).toBe('open')
  }, 60_000)

  test('that never says what it speaks is gone after 10 s', () => {
    const peer = new RawPeer()
    peer.clock = 10_001
    peer.connection.tick()
    expect(peer.ending).toBe('destroyed')
  })

  test('that does not read is not read, and is ended after 30 s without progress', async () => {
    const peer = new RawPeer().greet()
    peer.pending = 300_000
    peer.write(headers(1), data(1, 'x', true))
    await peer.frames()
    expect(peer.isPaused).toBe(true)
    peer.connection.tick()
    peer.clock = 20_000
    peer.pending = 290_000
    peer.connection.tick()
    peer.clock = 49_000
    peer.connection.tick()
    expect(peer.ending).toBe('open')
    peer.clock = 50_001
    peer.connection.tick()
    expect(peer.ending).toBe('destroyed')
  })

  test('that reads again is read again, and gets what waited', async () => {
    const peer = new RawPeer().greet()
    peer.pending = 300_000
    peer.write(headers(1), data(1, 'first', true))
    await peer.frames()
    peer.write(headers(3), data(3, 'second', true))
    expect(await content(peer, 3)).toBe('')
    peer.pending = 0
    peer.connection.onDrain()
    expect(peer.isPaused).toBe(false)
    expect(await content(peer, 3)).toBe('second')
  })

  test('that leaves its window shut on a response that has ended has it reset after 30 s', async () => {
    const peer = new RawPeer().greet(settings([Setting.INITIAL_WINDOW_SIZE, 0]))
    peer.write(headers(1), data(1, 'x', true))
    await peer.frames()
    peer.clock = 29_000
    peer.write(ping())
    peer.connection.tick()
    expect(await peer.of(FrameType.RST_STREAM)).toEqual([])
    peer.clock = 31_000
    peer.connection.tick()
    expect(await peer.of(FrameType.RST_STREAM)).toHaveLength(1)
    expect(peer.connection.openStreams).toBe(0)
  })
})

describe('a drain', () => {
  test('says so, serves what was on its way, and ends with the last stream', async () => {
    let stream: Stream | undefined
    const peer = new RawPeer((_head, opened) => {
      stream = opened
      return handler()
    }).greet(headers(1, { end: true }))
    peer.connection.drain()
    const said = await peer.frames()
    const last = ({ payload }: { readonly payload: Buffer }): number => payload.readUInt32BE(0)
    expect(said.filter(({ type }) => type === FrameType.GOAWAY).map(last)).toEqual([2 ** 31 - 1])
    peer.write(headers(3, { end: true }))
    const [asked] = said.filter(({ type }) => type === FrameType.PING)
    peer.write(frame(FrameType.PING, FrameFlag.ACK, 0, asked?.payload))
    expect((await peer.of(FrameType.GOAWAY)).map(last)).toEqual([3])
    peer.write(headers(5, { end: true }))
    expect(stream?.id).toBe(3)
    stream?.respond(Buffer.of(0x88), true)
    expect(peer.ending).toBe('open')
    peer.write(rst(1))
    expect(peer.ending).toBe('closed')
  })

  test('does not wait for a client that does not answer', () => {
    const peer = new RawPeer().greet()
    peer.connection.drain()
    peer.connection.tick()
    expect(peer.ending).toBe('open')
    peer.clock = 1_001
    peer.connection.tick()
    expect(peer.ending).toBe('closed')
  })

  test('of the client: the connection ends with the last stream', () => {
    const peer = new RawPeer(() => handler()).greet(headers(1), goAway())
    expect(peer.ending).toBe('open')
    peer.write(rst(1))
    expect(peer.ending).toBe('closed')
  })
})

test('a fault of ours ends the connection, and is told', async () => {
  const peer = new RawPeer(() => {
    throw new Error('a bug')
  }).greet(headers(1))
  expect(await peer.goAwayCode()).toBe(ErrorCode.INTERNAL_ERROR)
  expect(peer.faults).toHaveLength(1)
})

test('when the socket is gone, every handler is told once', () => {
  let resets = 0
  const peer = new RawPeer(() => handler({ onReset: () => (resets += 1) }))
  peer.greet(headers(1), headers(3), rst(1))
  peer.connection.onClose()
  peer.connection.onClose()
  expect(resets).toBe(2)
})
