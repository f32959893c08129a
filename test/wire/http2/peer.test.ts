// Peers that are silent, gone or do not read.

import { describe, expect, test } from 'vitest'
import { FrameFlag, FrameType, Setting } from '../../../src/wire/http2/protocol.js'
import { contentOf, data, frame, headers, ping, RawPeer, settings } from './raw-peer.js'

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
