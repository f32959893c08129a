// Versions of lists and maps: their differences, and that a new version leaves its base unchanged.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { differences } from '../../../src/kit/incremental/diff.js'
import { persistentMap } from '../../../src/kit/incremental/persistent-map.js'
import { runs } from '../../support/runs.js'

const sorted = (list: readonly number[]): readonly number[] => list.toSorted((a, b) => a - b)

test('a list without what was removed, and with what was added, has what the other one has', () => {
  const list = fc.array(fc.nat(5), { maxLength: 12 })
  fc.assert(
    fc.property(list, list, (before, now) => {
      const { removed, added } = differences(before, now)
      const left = [...before]
      for (const element of removed) left.splice(left.indexOf(element), 1)
      expect(left).toHaveLength(before.length - removed.length)
      expect(sorted([...left, ...added])).toEqual(sorted(now))
      expect(added.filter((element) => removed.includes(element))).toEqual([])
    }),
  )
})

test('what only moved is no difference', () => {
  expect(differences([1, 2, 3, 4], [4, 2, 1, 3])).toEqual({ removed: [], added: [] })
})

test('long lists that are compared again, also with others, differ by the same', () => {
  const one = [...Array(1_000).keys()]
  const [two, three] = [one.with(7, -1), one.toSpliced(500, 1)]
  const expected = [
    [one, two, [7], [-1]],
    [three, two, [7], [-1, 500]],
    [one, three, [500], []],
    [two, three, [-1, 500], [7]],
  ] as const
  for (const [before, now, removed, added] of [...expected, ...expected]) {
    const found = differences(before, now)
    expect([sorted(found.removed), sorted(found.added)]).toEqual([removed, added])
  }
})

test('a map with changes gives what a Map gives, and the one before it what it gave', () => {
  const change = fc.tuple(fc.nat(300).map(String), fc.option(fc.nat(), { nil: undefined }))
  fc.assert(
    fc.property(
      fc.array(fc.array(change, { minLength: 60, maxLength: 90 }), { minLength: 3, maxLength: 5 }),
      (rounds) => {
        let map = persistentMap<number>()
        const known = new Map<string, number>()
        for (const changes of rounds) {
          const [before, old] = [map, new Map(known)]
          map = map.with(changes)
          for (const [key, value] of changes)
            if (value === undefined) known.delete(key)
            else known.set(key, value)
          for (const key of [...Array(301).keys()].map(String)) {
            expect(map.get(key)).toBe(known.get(key))
            expect(before.get(key)).toBe(old.get(key))
          }
        }
      },
    ),
    { numRuns: runs(40), endOnFailure: true },
  )
})
