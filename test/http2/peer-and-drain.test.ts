// Peers that are silent, gone or do not read; and how a connection ends when either side drains it.

import { describe, expect, test } from 'vitest'
import { FrameFlag, FrameType, Setting } from '../../src/http2/protocol.js'
import { type Stream } from '../../src/http2/stream.js'
import {
  contentOf,
  data,
  frame,
  goAway,
  handler,
  headers,
  ping,
  RawPeer,
  rst,
  settings,
} from './raw-peer.js'

describe('the peer', () => {
  test('that has sent nothing for 30 s gets a PING, and is disconnected after 10 s more', async () => {
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

  test('that only answers PINGs stays connected for a day, and so does one that sends one each second', async () => {
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

  test('that never sends a preface is disconnected after 10 s', () => {
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
    expect(await contentOf(peer, 3)).toBe('')
    peer.pending = 0
    peer.connection.onDrain()
    expect(peer.isPaused).toBe(false)
    expect(await contentOf(peer, 3)).toBe('second')
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
