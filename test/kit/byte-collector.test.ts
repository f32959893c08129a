// Bytes that arrive in pieces come out in order, in few buffers.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteCollector, joined } from '../../src/kit/byte-collector.js'
import { runs } from '../support/runs.js'

test('all pieces come out in their order, copied, and once', () => {
  const size = fc.oneof(fc.nat(3), fc.nat(5_000), fc.nat(100_000))
  fc.assert(
    fc.property(fc.array(size, { maxLength: 40 }), (lengths) => {
      const collector = new ByteCollector()
      const all: Buffer[] = []
      let next = 0
      for (const length of lengths) {
        const piece = Buffer.from(Uint8Array.from({ length }, () => (next += 7)))
        all.push(Buffer.from(piece))
        collector.add(piece)
        piece.fill(0)
      }
      const expected = Buffer.concat(all)
      expect(collector.size).toBe(expected.length)
      expect(Buffer.compare(joined(collector.take()), expected)).toBe(0)
      expect([collector.size, collector.take()]).toEqual([0, []])
    }),
    { numRuns: runs(250) },
  )
})

test('a million bytes, each alone, are few buffers', () => {
  const collector = new ByteCollector()
  for (let count = 0; count < 1_000_000; count += 1) collector.add(Buffer.of(count))
  const parts = collector.take()
  expect(parts.length).toBeLessThan(100)
  const memory = parts.reduce((sum, { buffer }) => sum + buffer.byteLength, 0)
  expect(memory).toBeLessThan(2_000_000)
})
