// A list that is kept from round to round: what it is after changes is what it would be from scratch.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSortedList } from '../../src/gatewayapi/sorted-list.js'

interface Named {
  readonly name: string
  readonly version: number
}

const nameOf = ({ name }: Named): string => name

test('is sorted and without duplicates, whatever is added, removed and replaced', () => {
  const names = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 6 })
  const round = fc.record({ names, replaced: names })
  fc.assert(
    fc.property(fc.array(round, { maxLength: 8 }), fc.boolean(), (rounds, keepsNames) => {
      const list = createSortedList(nameOf)
      const things = new Map<string, Named>()
      for (const [version, { names, replaced }] of rounds.entries()) {
        for (const name of replaced) things.set(name, { name, version })
        const values = (keepsNames ? (rounds[0]?.names ?? []) : names).map((name) => {
          const thing = things.get(name) ?? { name, version: -1 }
          things.set(name, thing)
          return thing
        })
        expect(list(values)).toEqual(createSortedList(nameOf)(values))
        expect(list(values).map(nameOf)).toEqual([...new Set(values.map(nameOf))].sort())
      }
    }),
  )
})

test('is the same list while its values are the same', () => {
  const list = createSortedList(nameOf)
  const [a, b] = [
    { name: 'a', version: 0 },
    { name: 'b', version: 0 },
  ]
  const first = list([b, a, b])
  expect(list([b, a, b])).toBe(first)
  expect(list([b, { name: 'a', version: 1 }, b])).toEqual([{ name: 'a', version: 1 }, b])
})
