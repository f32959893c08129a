// A map of named values in list order, kept from version to version.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { listOf, namedMap } from '../../../src/kit/incremental/named-map.js'

interface Named {
  readonly name: string
  readonly version: number
}

const lists = fc.array(
  fc.uniqueArray(fc.record({ name: fc.constantFrom(...'abcdefgh'), version: fc.nat(2) }), {
    selector: ({ name }) => name,
  }),
  { maxLength: 8 },
)

test('each version has what a Map of its list has, and those before it what they had', () => {
  fc.assert(
    fc.property(lists, (all) => {
      const versions: ReadonlyMap<string, Named>[] = []
      for (const list of all) versions.push(namedMap(list, versions.at(-1)))
      for (const [index, map] of versions.entries()) {
        const expected = new Map(all[index]?.map((value) => [value.name, value]))
        expect([...map]).toEqual([...expected])
        expect([...map.keys()]).toEqual([...expected.keys()])
        expect([...map.values()]).toEqual(listOf(map))
        expect(map.size).toBe(expected.size)
        for (const name of 'abcdefgh') {
          expect(map.get(name)).toBe(expected.get(name))
          expect(map.has(name)).toBe(expected.has(name))
        }
      }
    }),
  )
})

test('the same values are the same map', () => {
  const [a, b] = [
    { name: 'a', version: 0 },
    { name: 'b', version: 0 },
  ]
  const map = namedMap([a, b])
  expect(namedMap([a, b], map)).toBe(map)
  expect(namedMap([a], map)).not.toBe(map)
})
