// Messages in parts: long parts reach the socket without a copy, in order, and as fast as it takes them.

import { expect, test } from 'vitest'
import { FrameType, Setting } from '../../../src/wire/http2/protocol.js'
import type { Stream } from '../../../src/wire/http2/stream.js'
import { handler, headers, RawPeer, settings, windowUpdate } from './raw-peer.js'

const PART = 15_000

const partsOf = (count: number): readonly Buffer[] =>
  [...Array(count).keys()].map((index) => Buffer.alloc(PART, index))

/** Answers each request with these parts. */
const answering = (parts: readonly Buffer[]) => (_head: unknown, stream: Stream) =>
  handler({
    onEnd: () => {
      stream.respond(Buffer.of(0x88))
      stream.sendParts(parts)
      stream.end()
    },
  })

const wide = (open: ReturnType<typeof answering>): RawPeer =>
  new RawPeer(open).greet(
    settings([Setting.INITIAL_WINDOW_SIZE, 10_000_000]),
    windowUpdate(0, 10_000_000),
  )

const bytesOf = async (peer: RawPeer, id: number): Promise<Buffer> =>
  Buffer.concat(
    (await peer.of(FrameType.DATA))
      .filter(({ streamId }) => streamId === id)
      .map(({ payload }) => payload),
  )

test('long parts are sent from where they are, short ones beside the headers of frames', async () => {
  const [first, second] = [Buffer.alloc(PART, 1), Buffer.alloc(PART, 2)]
  const short = Buffer.from('short')
  const peer = wide(answering([first, short, second]))
  await peer.frames()
  peer.write(headers(1, { end: true }))
  expect((await bytesOf(peer, 1)).equals(Buffer.concat([first, short, second]))).toBe(true)
  const isSent = (part: Buffer): boolean => peer.pieces.some(({ buffer }) => buffer === part.buffer)
  expect([first, short, second].map(isSent)).toEqual([true, false, true])
})

test('the parts of streams that are answered together stay apart, and whole', async () => {
  const parts = partsOf(40)
  const peer = wide(answering(parts))
  peer.write(headers(1, { end: true }), headers(3, { end: true }))
  const sent = await peer.of(FrameType.DATA)
  for (const id of [1, 3]) {
    const own = sent.filter(({ streamId }) => streamId === id).map(({ payload }) => payload)
    expect(Buffer.concat(own).equals(Buffer.concat(parts))).toBe(true)
  }
})

test('while the socket is full, no more than it holds and a little is passed on', async () => {
  const parts = partsOf(100)
  const peer = wide(answering(parts))
  await peer.frames()
  const before = peer.pieces.length
  const written = (): number =>
    peer.pieces.slice(before).reduce((sum, { length }) => sum + length, 0)
  peer.drains = false
  peer.write(headers(1, { end: true }))
  expect(written()).toBeLessThan(2 * 262_144)
  expect(peer.isPaused).toBe(true)
  const first = await bytesOf(peer, 1)
  peer.drains = true
  peer.pending = 0
  peer.connection.onDrain()
  const all = Buffer.concat([first, await bytesOf(peer, 1)])
  expect(all.equals(Buffer.concat(parts))).toBe(true)
  expect(peer.isPaused).toBe(false)
})
