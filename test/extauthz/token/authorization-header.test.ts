// The one bearer token of a request (RFC 6750 section 2.1, decision 5).

import { describe, expect, test } from 'vitest'
import { bearerToken, unreadToken } from '../../../src/extauthz/token/authorization-header.js'

const malformed = { type: 'malformed' }
const token = (text: string): object => ({ type: 'token', token: text })
const longest = 'a'.repeat(16 * 1024 - 'Bearer '.length)

describe('the token', () => {
  test.each<[string, readonly string[], object]>([
    ['of no header', [], { type: 'none' }],
    ['as clients send it', ['Bearer abc'], token('abc')],
    ['of every character', ['Bearer aZ09-._~+/='], token('aZ09-._~+/=')],
    ['in another spelling', ['bEARER   abc'], token('abc')],
    ['of the longest header', [`Bearer ${longest}`], token(longest)],
    ['of a longer header', [`Bearer ${longest}a`], malformed],
    ['of two headers', ['Bearer abc', 'Bearer abc'], malformed],
    ['of another scheme', ['Basic abc'], malformed],
    ['of the scheme in the middle', ['xBearer abc'], malformed],
    ['that is missing', ['Bearer '], malformed],
    ['without a scheme', ['abc'], malformed],
    ['with a space', ['Bearer a b'], malformed],
    ['with a space at its end', ['Bearer abc '], malformed],
    ['with a tab before it', ['Bearer \tabc'], malformed],
    ['of other characters', ['Bearer !"?'], malformed],
  ])('%s', (_name, values, expected) => {
    expect(bearerToken(values)).toEqual(expected)
  })
})

describe('what may be a remembered token', () => {
  test.each<[string, readonly string[], string | undefined]>([
    ['no header', [], undefined],
    ['the usual form', ['Bearer abc'], 'abc'],
    ['the longest header', [`Bearer ${longest}`], longest],
    ['a longer header', [`Bearer ${longest}a`], undefined],
    ['two headers', ['Bearer abc', 'Bearer abc'], undefined],
    ['another spelling', ['bearer abc'], undefined],
    ['the scheme at the end', ['abcBearer '], undefined],
  ])('%s', (_name, values, expected) => {
    expect(unreadToken(values)).toBe(expected)
  })
})
