// The memo of names returns what is in the text, whatever was read before, and keeps nothing else of that text.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MemberNames } from '../../../src/kit/json/json-reader.js'
import { runs } from '../../support/runs.js'

test('a name is the part of the text, also beside others with the same slot', () => {
  const names = new MemberNames()
  const name = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'b', '_', '\u00e9', '\ud83d'), maxLength: 40 }),
    fc.string({ unit: 'binary', maxLength: 40 }),
  )
  fc.assert(
    fc.property(name, fc.string(), fc.string(), (own, before, after) => {
      const text = `${before}${own}${after}`
      const from = before.length
      expect(names.read(text, from, from + own.length)).toBe(own)
      expect(names.read(text, from, from + own.length)).toBe(own)
    }),
    { numRuns: runs(10_000) },
  )
})

test('a name that is a part of another is not taken for it', () => {
  const names = new MemberNames()
  expect(names.read('model', 0, 5)).toBe('model')
  expect(names.read('model_id', 0, 8)).toBe('model_id')
  expect(names.read('model_id', 0, 5)).toBe('model')
  expect(names.read('', 0, 0)).toBe('')
})
