// What an index has said before is shown again with what it says now, unless all of that is just before it.

import { expect, test } from 'vitest'
import { SharedTexts } from '../../../../src/extproc/sse/windows/reply-channels.js'

const HOLD_BACK = 8

/** Says parts of one text, each under an index. Returns what each may continue. */
function say(parts: readonly (readonly [string, string])[]): readonly (string | undefined)[] {
  const shared = new SharedTexts(HOLD_BACK)
  const of = {}
  let all = ''
  return parts.map(([index, text]) => {
    const before = shared.say({ of, index, start: all.length, text }, () => all)
    all += text
    return before
  })
}

test('a text that one index says is not joined', () => {
  expect(say([...'abcdefghijkl'].map((text) => ['', text] as const))).toEqual(
    Array.from({ length: 12 }, () => undefined),
  )
})

test('indexes that grow are not joined: each is new', () => {
  const parts = Array.from({ length: 2000 }, (_, at) => [String(at), 'word '] as const)
  expect(new Set(say(parts))).toEqual(new Set([undefined]))
})

test('an index that comes again is joined to what it has said', () => {
  expect(
    say([
      ['', 'sw'],
      ['1', 'other'],
      ['', ''],
      ['', 'or'],
      ['', 'd'],
      ['1', ' one'],
    ]),
  ).toEqual([undefined, undefined, undefined, 'sw', 'swor', 'other'])
})

test('it is not joined any more once it has said enough in a row', () => {
  expect(
    say([
      ['', 'sw'],
      ['1', 'other'],
      ['', 'or'],
      ['', 'dfisher'],
      ['', 'men'],
    ]),
  ).toEqual([undefined, undefined, 'sw', 'swor', undefined])
})
