// What header lists and unfinished header blocks of all connections may hold together.

import { describe, expect, test } from 'vitest'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { ErrorCode, FrameFlag, FrameType } from '../../../src/wire/http2/protocol.js'
import { frame, handler, headers, RawPeer, REQUEST, rst } from './raw-peer.js'

const KIB = 1024
const LARGE = [...REQUEST, ['x-large', 'x'.repeat(10 * KIB)]] as const

const peerWith = (budget: ReturnType<typeof createHeldBytes>): RawPeer =>
  new RawPeer(() => handler(), budget.open()).greet()

/** Opens streams until one is refused. Returns how many are open. */
async function fill(peer: RawPeer): Promise<number> {
  for (let id = 1; id < 1_000; id += 2) peer.write(headers(id, { fields: LARGE }))
  const refused = await peer.of(FrameType.RST_STREAM)
  expect(new Set(refused.map(({ payload }) => payload.readUInt32BE(0)))).toEqual(
    new Set([ErrorCode.ENHANCE_YOUR_CALM]),
  )
  return peer.connection.openStreams
}

describe('header lists of open streams', () => {
  test('hold as much as the budget of all connections has, and give it back', async () => {
    const budget = createHeldBytes(1024 * KIB)
    const greedy = peerWith(budget)
    const open = await fill(greedy)
    expect(open).toBeGreaterThan(90)
    expect(open * 10 * KIB).toBeLessThan(1040 * KIB)
    // Each connection has room for some calls of its own.
    const other = peerWith(budget)
    expect(await fill(other)).toBe(1)
    other.write(rst(1))
    for (let id = 1_001; id < 1_401; id += 2) {
      other.write(headers(id))
      other.write(rst(id))
    }
    expect(await other.of(FrameType.RST_STREAM)).toEqual([])
    greedy.connection.onClose()
    expect(budget.held()).toBe(0)
    for (let id = 1_401; id < 1_421; id += 2) other.write(headers(id, { fields: LARGE }))
    expect(await other.of(FrameType.RST_STREAM)).toEqual([])
    for (let id = 1_401; id < 1_421; id += 2) other.write(rst(id))
    expect(budget.held()).toBe(0)
  })

  test('calls that come and go ask the budget seldom', () => {
    let asked = 0
    const account = { add: () => ((asked += 1), true) }
    const peer = new RawPeer(() => handler(), account).greet()
    for (let id = 1; id < 21; id += 2) peer.write(headers(id, { fields: LARGE }))
    const before = asked
    for (let id = 101; id < 2_101; id += 2) {
      peer.write(headers(id))
      peer.write(rst(id))
    }
    expect(asked - before).toBeLessThanOrEqual(1)
  })
})

describe('an unfinished header block', () => {
  const begin = frame(FrameType.HEADERS, 0, 1, Buffer.alloc(16_000))
  const more = frame(FrameType.CONTINUATION, 0, 1, Buffer.alloc(16_000))

  test('ends its connection where the budget of all is used up', async () => {
    const budget = createHeldBytes(200 * KIB)
    const peers = Array.from({ length: 4 }, () => peerWith(budget))
    for (const peer of peers) peer.write(begin, more, more)
    expect(await Promise.all(peers.map((peer) => peer.goAwayCode()))).toEqual([
      undefined,
      undefined,
      ErrorCode.ENHANCE_YOUR_CALM,
      ErrorCode.ENHANCE_YOUR_CALM,
    ])
    for (const peer of peers) peer.connection.onClose()
    expect(budget.held()).toBe(0)
  })

  test('gives back what it held at its end', () => {
    const budget = createHeldBytes(200 * KIB)
    const peer = peerWith(budget)
    peer.write(begin, frame(FrameType.CONTINUATION, 0, 1, Buffer.alloc(1)))
    expect(budget.held()).toBeGreaterThan(0)
    peer.write(frame(FrameType.CONTINUATION, FrameFlag.END_HEADERS, 1))
    expect(budget.held()).toBe(0)
  })

  test('ends its connection after 30 s', async () => {
    const peer = new RawPeer().greet(begin)
    for (let at = 0; at <= 30; at += 1) {
      peer.connection.tick()
      peer.write(frame(FrameType.CONTINUATION, 0, 1, Buffer.alloc(1)))
      peer.clock += 1_000
    }
    expect(await peer.goAwayCode()).toBeUndefined()
    peer.connection.tick()
    expect(await peer.goAwayCode()).toBe(ErrorCode.ENHANCE_YOUR_CALM)
  })
})
