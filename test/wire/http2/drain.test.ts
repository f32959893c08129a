// How a connection ends when either side drains it, and what becomes of calls that the peer opens too late.

import { describe, expect, test } from 'vitest'
import { ErrorCode, FrameFlag, FrameType } from '../../../src/wire/http2/protocol.js'
import type { Stream } from '../../../src/wire/http2/stream.js'
import {
  contentOf,
  data,
  frame,
  goAway,
  handler,
  headers,
  RawPeer,
  rst,
  windowUpdate,
} from './raw-peer.js'

describe('a drain', () => {
  test('sends GOAWAY, serves what was on its way, and ends with the last stream', async () => {
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

describe('a call above the last stream that GOAWAY named', () => {
  /** A peer whose calls 1 and 3 are open while its connection has drained. */
  async function drained(): Promise<RawPeer> {
    const peer = new RawPeer().greet(headers(1), headers(3))
    peer.connection.drain()
    peer.clock = 1_001
    peer.connection.tick()
    await peer.frames()
    return peer
  }

  test.each([
    ['DATA', data(5, 'x', true)],
    ['RST_STREAM', rst(5)],
    ['WINDOW_UPDATE', windowUpdate(5, 10)],
    ['trailers', headers(5, { end: true, fields: [['x-a', '1']] })],
    ['another call', Buffer.concat([headers(9), data(9, 'x'), data(7, 'x')])],
  ])('is ignored with its %s; those under way are served', async (_what, more) => {
    const peer = await drained()
    peer.write(headers(5), more)
    expect(await peer.frames()).toEqual([])
    peer.write(data(1, 'one', true), data(3, 'three', true))
    const answers = (await peer.of(FrameType.DATA)).filter(({ payload }) => payload.length > 0)
    expect(answers.map(({ payload }) => payload.toString())).toEqual(['one', 'three'])
    expect(peer.ending).toBe('closed')
  })

  test('counts for the compression of header blocks', async () => {
    const peer = await drained()
    // Added to the table (RFC 7541, section 6.2.1), and a reference to it as trailers.
    const added = Buffer.from('\x40\x03x-a\x01v', 'latin1')
    peer.write(frame(FrameType.HEADERS, FrameFlag.END_HEADERS, 5, added))
    const end = FrameFlag.END_HEADERS | FrameFlag.END_STREAM
    peer.write(data(1, 'one'), frame(FrameType.HEADERS, end, 1, Buffer.of(0xbe)))
    expect(await contentOf(peer, 1)).toBe('one')
  })

  test('has its content given back to the window of the connection', async () => {
    const peer = await drained()
    peer.write(headers(5))
    const content = Buffer.alloc(16_384)
    for (let sent = 0; sent < 1_024; sent++) peer.write(data(5, content))
    const updates = await peer.of(FrameType.WINDOW_UPDATE)
    expect(updates.every(({ streamId }) => streamId === 0)).toBe(true)
    const given = updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0)
    expect(given).toBeGreaterThanOrEqual(8 * 1024 * 1024)
  })

  test('does not excuse a frame on an even stream', async () => {
    const peer = await drained()
    peer.write(data(6, 'x'))
    expect(await peer.goAwayCode()).toBe(ErrorCode.PROTOCOL_ERROR)
  })
})
