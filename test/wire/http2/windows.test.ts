// Flow control in both directions (RFC 9113, section 5.2).

import { describe, expect, test } from 'vitest'
import { FrameFlag, FrameType, Setting } from '../../../src/wire/http2/protocol.js'
import { type Stream } from '../../../src/wire/http2/stream.js'
import { data, handler, headers, RawPeer, rst, settings, windowUpdate } from './raw-peer.js'

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
    for (let id = 1; id < 5_000; id += 2) {
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
