// Which content types of requests are read: only JSON in UTF-8.

import { expect, test } from 'vitest'
import { isJsonType } from '../../../src/extproc/guard/request-attributes.js'

test.each([
  'application/json',
  'Application/JSON',
  ' application/json\t',
  'application/json;',
  'application/json ; ',
  'application/json;charset=utf-8',
  'application/json; charset = "UTF8" ;',
  'application/vnd.api+json',
  'application/problem.v1+json; charset=utf-8',
])('%j is read', (type) => {
  expect(isJsonType(type)).toBe(true)
})

const BLANKS = ' '.repeat(58_000)

test.each([
  '',
  'text/json',
  'application/jsonp',
  'application/json, text/plain',
  'application/json; charset=utf-16',
  'application/json; charset="utf-8',
  'application/json; charset=utf-8=utf-16',
  'application/json; charset=utf-8; charset=utf-16',
  'application/json;;',
  'application/json; boundary=x',
  '\u00a0application/json',
  'application/ +json',
])('%j is not', (type) => {
  expect(isJsonType(type)).toBe(false)
})

test('one that is too long is not, whatever it says', () => {
  expect(isJsonType(`application/json${BLANKS}`)).toBe(false)
  expect(isJsonType(`application/json;${BLANKS}x`)).toBe(false)
})
