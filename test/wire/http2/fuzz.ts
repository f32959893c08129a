// Generates HTTP/2 conversations that are almost valid: frames of a client, altered, dropped, duplicated and cut
// anywhere.

import fc from 'fast-check'
import { FrameType, PREFACE, Setting } from '../../../src/wire/http2/protocol.js'
import {
  data,
  frame,
  goAway,
  headers,
  ping,
  RawPeer,
  rst,
  settings,
  windowUpdate,
} from './raw-peer.js'

const id = fc.constantFrom(0, 1, 1, 1, 3, 5, 7, 2)

const anyFrame = fc.oneof(
  id.map((streamId) => headers(streamId)),
  id.map((streamId) => headers(streamId, { end: true })),
  id.map((streamId) => headers(streamId, { end: true, fields: [['x-a', '1']] })),
  fc
    .tuple(id, fc.nat(40), fc.boolean())
    .map(([streamId, size, end]) => data(streamId, Buffer.alloc(size), end)),
  id.map(rst),
  fc.constant(ping()),
  fc.constant(goAway()),
  fc.tuple(id, fc.nat()).map(([streamId, increment]) => windowUpdate(streamId, increment)),
  fc.tuple(fc.nat(8), fc.nat()).map((pair) => settings(pair)),
  fc.nat(60_000).map((size) => settings([Setting.INITIAL_WINDOW_SIZE, size])),
  fc
    .tuple(fc.nat(11), fc.nat(255), id, fc.uint8Array({ maxLength: 30 }))
    .map(([type, flags, streamId, payload]) => frame(type, flags, streamId, payload)),
)

const conversation = fc.record({
  frames: fc.array(anyFrame, { maxLength: 12 }),
  bends: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
  cuts: fc.array(fc.nat(), { maxLength: 3 }),
  /** Before which part the server drains the connection, and before which it has drained. */
  drain: fc.option(fc.tuple(fc.nat(3), fc.nat(3))),
})

/** Throws where the server threw, was at fault, left a stream open behind a closed connection, or sent what is no frame. */
export async function fuzzConversations(count: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(conversation, async ({ frames, bends, cuts, drain }) => {
      const bytes = Buffer.concat([settings(), headers(1), data(1, 'x', true), ...frames])
      for (const [at, value] of bends) bytes[at % bytes.length] = value
      const peer = new RawPeer()
      peer.write(PREFACE)
      let from = 0
      const ends = cuts.map((at) => at % bytes.length).sort((a, b) => a - b)
      for (const [part, to] of [...ends, bytes.length].entries()) {
        if (drain?.[0] === part) peer.connection.drain()
        if (drain?.[1] === part) peer.clock += 1_001
        peer.connection.tick()
        peer.write(bytes.subarray(from, to))
        from = to
      }
      if (peer.faults.length > 0) throw peer.faults[0]
      if (peer.ending !== 'open' && peer.connection.openStreams > 0)
        throw new Error('a stream outlives its connection')
      const sent = await peer.frames()
      if (sent.some(({ type }) => type > FrameType.CONTINUATION)) throw new Error('no frame')
    }),
    { numRuns: count },
  )
}
