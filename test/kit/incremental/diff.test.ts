// Comparing lists by identity: which elements differ, and how often the elements are looked at.

import { describe, expect, it } from 'vitest'
import { commonEnds, differences, replacements } from '../../../src/kit/incremental/diff.js'

const elements = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, index) => ({ index }))

/** Returns the list, whose elements are counted as they are read. */
function counted(list: readonly object[]) {
  const count = { reads: 0 }
  const proxy = new Proxy(list, {
    get: (target, name, receiver): unknown => {
      if (typeof name === 'string' && /^\d+$/.test(name)) count.reads += 1
      return Reflect.get(target, name, receiver)
    },
  })
  return { count, list: proxy }
}

describe('comparing two long lists', () => {
  it('looks at the elements once, however many steps compare them', () => {
    const before = counted(elements(1_000))
    const now = before.list.with(500, { index: 'other' })
    before.count.reads = 0
    expect(commonEnds(before.list, now)).toEqual({ start: 500, end: 499 })
    const once = before.count.reads
    expect(differences(before.list, now).added).toEqual([{ index: 'other' }])
    expect(commonEnds(before.list, now)).toEqual({ start: 500, end: 499 })
    // The one that differs is looked at again.
    expect(before.count.reads - once).toBeLessThan(10)
  })

  it('compares anew with another version', () => {
    const before = elements(1_000)
    const first = before.with(3, { index: 'a' })
    const second = before.with(900, { index: 'b' })
    for (const [now, start] of [
      [first, 3],
      [second, 900],
      [first, 3],
    ] as const)
      expect(commonEnds(before, now).start).toBe(start)
  })
})

describe('replacements', () => {
  it('pair a changed element with the one in its place', () => {
    const before = elements(5)
    const other = { index: 'other' }
    expect(replacements(before, before.with(2, other))).toEqual([{ before: before[2], now: other }])
  })

  it('have elements that came or are gone without another', () => {
    const before = elements(3)
    const [a = {}, b = {}, c = {}] = before
    const fresh = { index: 'fresh' }
    expect(replacements(before, [a, b, c, fresh])).toEqual([{ now: fresh }])
    expect(replacements(before, [a, c])).toEqual([{ before: b }])
    expect(replacements(before, before)).toEqual([])
  })
})
