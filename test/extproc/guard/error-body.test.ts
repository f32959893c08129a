// Which bodies of errors are words: none in which a client could read JSON.

import { describe, expect, test } from 'vitest'
import { looksLikeJson } from '../../../src/extproc/guard/error-body.js'
import { atOnce, PIECE } from '../../../src/kit/turns.js'

const HIDDEN = '{"error":{"message":"s\\u0065cret"}}'
const isFound = (text: string): boolean => atOnce(looksLikeJson(text))

describe('a client could read JSON in', () => {
  test.each(['{', '[', '"', '/* a */', '// a\n', ")]}'\n"])('what begins with %j', (start) => {
    expect(isFound(start + HIDDEN)).toBe(true)
  })

  test.each([
    'null',
    'true',
    'false',
    'NaN',
    'Infinity',
    '-Infinity',
    'undefined',
    "'a'",
    '.5',
    '1',
  ])('a list that begins with %s', (first) => {
    expect(isFound(`[${first},${HIDDEN}]`)).toBe(true)
  })

  test.each([' \n', '\ufeff', '\v\f', '\x1e', '\u0000', '\u0085', '\u00a0', '\u200b\u2028'])(
    'JSON behind %j, which readers may drop',
    (blank) => {
      expect(isFound(blank + HIDDEN)).toBe(true)
      expect(isFound(blank.repeat(PIECE + 1) + HIDDEN)).toBe(true)
    },
  )
})

test.each(['', ' \n', 'a secret', '<p>', '404 page not found', 'null', "'a'", '/v1', '(a)', '…{'])(
  '%j is words',
  (text) => {
    expect(isFound(text)).toBe(false)
  },
)
