// Memoised decoding of texts returns the same text as decoding them anew.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TextMemo } from '../../../src/wire/grpc/text-memo.js'
import { runs } from '../../support/runs.js'

test('bytes are read the same, whatever was read before', () => {
  const memo = new TextMemo()
  const few = fc.uint8Array({ maxLength: 3, max: 4 })
  const any = fc.oneof(few, fc.uint8Array({ maxLength: 100 }))
  fc.assert(
    fc.property(fc.array(any, { maxLength: 50 }), fc.nat(5), (all, before) => {
      for (const bytes of all) {
        const buffer = Buffer.concat([Buffer.alloc(before, 'x'), bytes, Buffer.from('y')])
        const text = memo.read(buffer, before, before + bytes.length)
        expect(text).toBe(Buffer.from(bytes).toString('utf8'))
      }
    }),
    { numRuns: runs(500) },
  )
})

test('what it has read may be overwritten', () => {
  const memo = new TextMemo()
  const buffer = Buffer.from('GET')
  expect(memo.read(buffer, 0, 3)).toBe('GET')
  buffer.write('PUT')
  expect(memo.read(buffer, 0, 3)).toBe('PUT')
  expect(memo.read(Buffer.from('GET'), 0, 3)).toBe('GET')
})
