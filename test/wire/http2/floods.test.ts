// Limits on what a peer may send too often or too large, and that resets cost nothing.

import { describe, expect, test, vi } from 'vitest'
import { ErrorCode, FrameFlag, FrameType, Setting } from '../../../src/wire/http2/protocol.js'
import { Stream } from '../../../src/wire/http2/stream.js'
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
} from './raw-peer.js'

describe('floods', () => {
  test.each([
    ['PING', () => ping()],
    [
      'acknowledged PINGs that nobody sent',
      () => frame(FrameType.PING, FrameFlag.ACK, 0, Buffer.alloc(8)),
    ],
    ['acknowledged SETTINGS that nobody sent', () => frame(FrameType.SETTINGS, FrameFlag.ACK, 0)],
    ['empty frames of an unknown type', () => frame(0x20, 0, 1)],
    ['frames of an unknown type', () => frame(0xff, 0, 0, Buffer.alloc(8))],
    ['GOAWAY', () => goAway()],
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

  test.each([
    ['PING', () => ping()],
    ['SETTINGS', () => settings()],
  ])('of %s: any 10 s count, whenever they begin', async (_what, flood) => {
    const peer = new RawPeer(() => handler()).greet(headers(1))
    peer.clock = 20_000
    peer.write(flood())
    peer.clock = 29_990
    for (let sent = 0; sent < 99; sent++) peer.write(flood())
    expect(peer.ending).toBe('open')
    peer.clock = 30_001
    peer.write(flood())
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
