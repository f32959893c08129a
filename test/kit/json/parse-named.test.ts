// Names of members are read as they are written, whatever was parsed before.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseNamed } from '../../../src/kit/json/parse-named.js'
import { parsedAsPairs } from '../../support/parsed-as-pairs.js'

/** Makes JSON.parse misread names that end with an escape, at this place of such an object (nodejs/node#63785). */
const misread = (text: string): unknown => JSON.parse(text)

test.each([
  [String.raw`{"h":[],"group\\":0}`, String.raw`{"h":1,"group\u0073":["a"]}`, 'groups'],
  [String.raw`{"h":[],"\\":0}`, String.raw`{"h":1,"\"":2}`, '"'],
  [String.raw`{"h":[],"a\\":0}`, String.raw`{"h":1,"a\/" : 2}`, 'a/'],
])('after %s, the last name of %s is %s', (before, text, name) => {
  misread(before)
  expect(Object.keys(parseNamed(text) as object)).toEqual(['h', name])
})

test('is what JSON.parse returns', () => {
  const unit = fc.constantFrom('a', '\\', '"', '/', '\n', '\u00e9', ':', '{', ' ')
  const name = fc.string({ unit, maxLength: 4 })
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.oneof(fc.double({ noDefaultInfinity: true, noNaN: true }), name, fc.constant(null)),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4 }),
    ),
  })).value
  fc.assert(
    fc.property(value, fc.constantFrom('', ' ', '\n\t'), (json, space) => {
      const text = JSON.stringify(json, null, space)
      expect(parseNamed(text)).toEqual(parsedAsPairs(text))
    }),
  )
})

describe('what is not JSON', () => {
  test.each([
    String.raw`{"a\/":1`,
    String.raw`{"a\/":}`,
    String.raw`{"a\x":1}`,
    String.raw`\ "`,
    '{"a":1,}',
    String.raw`{"a\/":1,"a/":2}`,
  ])('%s throws', (text) => {
    expect(() => parseNamed(text)).toThrow(SyntaxError)
  })
})

test('keeps a member that is called __proto__', () => {
  expect(Object.keys(parseNamed(String.raw`{"__proto__":1,"b\/":2}`) as object)).toEqual([
    '__proto__',
    'b/',
  ])
})

test('a text full of backslashes takes as long as another', () => {
  const text = `"${'\\\\'.repeat(5_000_000)}"`
  expect(parseNamed(text)).toHaveLength(5_000_000)
})
