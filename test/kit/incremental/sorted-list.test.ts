// An incrementally maintained sorted list equals one built from scratch after any changes.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isSameRow } from '../../../src/kit/incremental/diff.js'
import {
  createNamedList,
  createSortedList,
  type Parts,
  type SortedList,
} from '../../../src/kit/incremental/sorted-list.js'
import { atOnce } from '../../../src/kit/turns.js'

interface Named {
  readonly name: string
  readonly version: number
}

interface Ranked {
  readonly rank: number
  readonly text: string
}

const sortingAtOnce =
  <Value>(list: SortedList<Value>) =>
  (values: readonly Value[]): readonly Value[] =>
    atOnce(list(partsOf(values)))

/** Cuts the values into parts. Equal parts are the same list, as parts without a change are. */
function partsOf<Value>(values: readonly Value[]): Parts<Value> {
  const parts: (readonly Value[])[] = []
  for (let from = 0; from < values.length; from += 3) {
    const part = values.slice(from, from + 3)
    const known = cut.find((other) => isSameRow(other, part)) as readonly Value[] | undefined
    if (known === undefined) cut.push(part)
    parts.push(known ?? part)
  }
  return parts
}

/** The parts of earlier lists. */
const cut: (readonly unknown[])[] = []

const nameOf = ({ name }: Named): string => name

test('is sorted and without duplicates, whatever is added, removed and replaced', () => {
  const names = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 6 })
  const round = fc.record({ names, replaced: names })
  fc.assert(
    fc.property(fc.array(round, { maxLength: 8 }), fc.boolean(), (rounds, keepsNames) => {
      const list = sortingAtOnce(createNamedList(nameOf))
      const things = new Map<string, Named>()
      for (const [version, { names, replaced }] of rounds.entries()) {
        for (const name of replaced) things.set(name, { name, version })
        const values = (keepsNames ? (rounds[0]?.names ?? []) : names).map((name) => {
          const thing = things.get(name) ?? { name, version: -1 }
          things.set(name, thing)
          return thing
        })
        expect(list(values)).toEqual(sortingAtOnce(createNamedList(nameOf))(values))
        expect(list(values).map(nameOf)).toEqual([...new Set(values.map(nameOf))].sort())
      }
    }),
  )
})

test('is the same list while its values are the same', () => {
  const list = sortingAtOnce(createNamedList(nameOf))
  const [a, b] = [
    { name: 'a', version: 0 },
    { name: 'b', version: 0 },
  ]
  const first = list([b, a, b])
  expect(list([b, a, b])).toBe(first)
  expect(list([b, { name: 'a', version: 1 }, b])).toEqual([{ name: 'a', version: 1 }, b])
})

test('keeps the order whatever comes, goes and ties', () => {
  const element = fc.record({ rank: fc.nat(4), text: fc.constantFrom('a', 'b', 'c') })
  const pool = fc.array(element, { minLength: 20, maxLength: 60 })
  const compare = (a: Ranked, b: Ranked): number =>
    b.rank - a.rank || (a.text < b.text ? -1 : a.text > b.text ? 1 : 0)
  fc.assert(
    fc.property(pool, fc.array(fc.array(fc.nat(59), { maxLength: 5 })), (all, rounds) => {
      const list = sortingAtOnce(createSortedList(compare))
      let values: readonly Ranked[] = all
      for (const toggled of rounds) {
        for (const index of toggled) {
          const value = all[index]
          if (value !== undefined)
            values = values.includes(value)
              ? values.filter((one) => one !== value)
              : [value, ...values]
        }
        expect(list(values)).toEqual(values.toSorted(compare))
        expect(new Set(list(values))).toEqual(new Set(values))
      }
    }),
  )
})

test('keeps the order when a tenth of many values changes, of which some are there twice', () => {
  const [kept, gone, added] = [0, 1, 2].map((rest) =>
    [...Array(1_000).keys()].map((rank) => ({ rank: 3 * ((rank * 7) % 1_000) + rest, text: '' })),
  ) as [Ranked[], Ranked[], Ranked[]]
  const compare = (a: Ranked, b: Ranked): number => a.rank - b.rank
  const list = sortingAtOnce(createSortedList(compare))
  const twice = gone.slice(0, 40)
  const before = [...kept, ...twice, ...twice]
  expect(list(before)).toEqual(before.toSorted(compare))
  const now = [...kept, ...twice, ...added.slice(0, 60)]
  expect(list(now)).toEqual(now.toSorted(compare))
})
