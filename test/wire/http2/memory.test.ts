// Calls and resets leave nothing behind in memory.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { FrameFlag, FrameType } from '../../../src/wire/http2/protocol.js'
import { data, frame, handler, headers, RawPeer, rst } from './raw-peer.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

function heapUsed(): number {
  collect()
  return process.memoryUsage().heapUsed
}

test('100,000 resets in a row leave the memory as it was, also where handlers had taken something', () => {
  const peer = new RawPeer(() => {
    const taken: Buffer[] = []
    return handler({ onData: (bytes) => taken.push(Buffer.from(bytes)) })
  }).greet()
  const flood = (first: number, count: number): void => {
    for (let id = first; id < first + 2 * count; id += 2)
      peer.write(headers(id), data(id, 'some content of a request'), rst(id))
  }
  flood(1, 2_000)
  const before = heapUsed()
  flood(4_001, 100_000)
  // Less than 20 bytes for each: a stream that stays would be hundreds.
  expect(heapUsed() - before).toBeLessThan(2_000_000)
  expect(peer.connection.openStreams).toBe(0)
})

test('a header block in 60,000 frames of a byte holds its bytes and no more', () => {
  const peer = new RawPeer(() => handler()).greet(frame(FrameType.HEADERS, 0, 1, Buffer.of(0x82)))
  const held = (): number => heapUsed() + process.memoryUsage().arrayBuffers
  const before = held()
  const part = frame(FrameType.CONTINUATION, 0, 1, Buffer.of(0x82))
  for (let sent = 0; sent < 60_000; sent++) peer.write(part)
  // A buffer of its own for each byte would be a hundred times as much.
  expect(held() - before).toBeLessThan(600_000)
  peer.write(frame(FrameType.CONTINUATION, FrameFlag.END_HEADERS, 1, Buffer.of(0x82)))
  expect(peer.ending).toBe('closed')
})
