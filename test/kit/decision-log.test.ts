// Texts of clients in log lines: credentials are hidden and long texts cut, in time linear in their length.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hider, shownText } from '../../src/kit/decision-log.js'

const hideWith = (cookie: string, authorization = ''): ((text: string) => string) =>
  hider({
    headers: new Map([
      ['cookie', cookie],
      ['authorization', authorization],
    ]),
  })

const LONG = 4_000_000

describe('hidden are', () => {
  test.each([
    ['a token', '/a/eyJhbGciOi.eyJzdWI.c2ln/b', '/a/[token]/b'],
    ['a token without a signature', '/eyJhbGciOi.eyJzdWI.', '/[token]'],
    ['the token of this request', '/a/opaque-credential/b?c', '/a/[token]/b?c'],
    ['the cookies of this request', 'x=abcdefgh&y=abcdefghi', 'x=[token]&y=[token]'],
  ])('%s', (_what, text, shown) => {
    expect(hideWith('a=abcdefgh; b=abcdefghi', 'Bearer opaque-credential')(text)).toBe(shown)
  })

  test('a credential longer than what is shown, at any place', () => {
    const secret = 'S3'.repeat(3_000)
    const hide = hideWith('', `Bearer ${secret}`)
    for (const before of [0, 100, 255, 256]) {
      const shown = hide(`${'/'.repeat(before)}${secret}/after`)
      expect(shown).toHaveLength(Math.min(256, before + '[token]/after'.length))
      expect(shown).not.toContain('S3')
    }
  })

  test('no credential of the request is shown, whatever surrounds it', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '.', '-'), minLength: 8 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '/') })
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 12 }), text, text, (words, a, b) => {
        const [secret = ''] = words
        expect(hideWith(words.join(';'))(`${a}${secret}${b}`)).not.toContain(secret)
      }),
    )
  })
})

test('other texts stay, up to 256 characters', () => {
  const hide = hideWith('a=abcdefgh')
  for (const text of ['', '/eyJ', '/eyJhbGci/x', '/eyJ.', 'eyJa./b', 'abcdefg'])
    expect(hide(text)).toBe(text)
  expect(hide('x'.repeat(LONG))).toBe('x'.repeat(256))
})

describe('control characters are escaped', () => {
  test.each([
    ['a\nb', 'a\\u000ab'],
    ['\u001b[2J', '\\u001b[2J'],
    ['\u007f\u0085\u2028\u2029', '\\u007f\\u0085\\u2028\\u2029'],
    ['\u202etxt', '\\u202etxt'],
    ['\ud800', '\\ud800'],
    ['Zürich 日本 👩‍💻', 'Zürich 日本 👩‍💻'],
    ['x'.repeat(300), 'x'.repeat(256)],
    // Neither a character nor an escape is cut in two.
    [`${'x'.repeat(255)}👩`, 'x'.repeat(255)],
    [`${'x'.repeat(252)}\n`, 'x'.repeat(252)],
  ])('%j is shown as %j', (text, shown) => expect(shownText(text)).toBe(shown))

  test('whatever a text says, what is shown is short, whole and has no control characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
        const shown = shownText(text)
        expect(shown.length).toBeLessThanOrEqual(256)
        expect(shown).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e]/u)
      }),
    )
  })
})

describe('a text that is made to cost much costs little', () => {
  test.each([
    ['beginnings of tokens', 'eyJ', ''],
    ['beginnings of tokens in one part', 'eyJ-', ''],
    ['tokens', 'eyJa.', ''],
    ['ends that are none', 'eyJa..', ''],
    ['a thousand cookies that begin alike', 'aaaaaaaa', cookies('aaaaaaaa')],
    ['a thousand cookies', 'abcdefgh', cookies('')],
  ])('%s', (_what, unit, cookie) => {
    expect(hideWith(cookie)(unit.repeat(LONG / unit.length)).length).toBeLessThanOrEqual(256)
  })
})

function cookies(start: string): string {
  return Array.from(
    { length: 1_000 },
    (_, index) => `${start}${String(index).padStart(8, '0')}`,
  ).join(';')
}
