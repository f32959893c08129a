// Integers that JSON.parse would round keep the value from the token.

import { describe, expect, test } from 'vitest'
import { lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { ATTRIBUTES, json, run } from './helpers.js'

describe('whole numbers beyond 2^53', () => {
  const text = `{
    "id": 9007199254740993, "least": -9223372036854775808, "beyond": 9223372036854775808, "e": 1e19,
    "text": "9007199254740993", "said": "\\"9007199254740993", "9007199254740993": "name",
    "ids": [1234567890123456789, 3, 1.5], "__proto__": { "id": 1234567890123456789 }
  }`
  const jwt = lazyValue(json(text), text)
  test.each([
    'jwt.id == 9007199254740993',
    'jwt.id != 9007199254740992',
    'jwt.id > 9007199254740992 && jwt.id - 1 == 9007199254740992',
    'jwt.least == -9223372036854775807 - 1',
    'type(jwt.beyond) == double && type(jwt.e) == double',
    'jwt.text == "9007199254740993" && jwt.said == "\\"9007199254740993"',
    'jwt["9007199254740993"] == "name"',
    '1234567890123456789 in jwt.ids && !(1234567890123456788 in jwt.ids)',
    'jwt.ids[1] == 3 && jwt.ids[2] == 1.5',
    'jwt["__proto__"].id == 1234567890123456789',
    'json("[9007199254740993]")[0] == 9007199254740993',
    'toJson(jwt.ids) == "[1234567890123456789,3,1.5]"',
    'json(toJson(jwt)).id == jwt.id && json(toJson(jwt)).least == jwt.least',
  ])('%s', (source) => {
    expect(run(source, { ...ATTRIBUTES, jwt })).toBe(true)
  })

  test('make no JSON of what is none', () => {
    expect(run('json("{1234567890123456789: 1}") != null')).toBe('evaluation_error')
  })
})
