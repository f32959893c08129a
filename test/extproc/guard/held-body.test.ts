// A held body is released unchanged, in whatever pieces it arrived.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createHeldBody } from '../../../src/extproc/guard/held-body.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { runs } from '../../support/runs.js'

const MB = 1024 ** 2

test('its pieces are put together in their order, copied', () => {
  const size = fc.oneof(fc.nat(20), fc.nat(100_000))
  fc.assert(
    fc.property(fc.array(size, { maxLength: 30 }), (lengths) => {
      const held = createHeldBody(100 * MB, createHeldBytes(1000 * MB).open())
      const all: Buffer[] = []
      let next = 0
      for (const length of lengths) {
        const piece = Buffer.from(Uint8Array.from({ length }, () => (next += 7)))
        all.push(Buffer.from(piece))
        expect(held.add(piece)).toBe('held')
        piece.fill(0)
      }
      const expected = Buffer.concat(all)
      expect(held.size).toBe(expected.length)
      expect(Buffer.compare(Buffer.concat(held.take()), expected)).toBe(0)
      expect(held.take()).toHaveLength(0)
    }),
    { numRuns: runs(50) },
  )
})

test('nothing is left of a body that was dropped', () => {
  const bytes = createHeldBytes(MB)
  const held = createHeldBody(MB, bytes.open())
  held.add(Buffer.alloc(1000))
  held.drop()
  expect(bytes.held()).toBe(0)
  expect(held.take()).toHaveLength(0)
})
