// A small set has what a Set has.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  listOfSet,
  type SmallSet,
  withElement,
  withoutElement,
} from '../../../src/kit/incremental/small-set.js'
import { runs } from '../../support/runs.js'

const ELEMENTS = [...Array(4).keys()].map((id) => ({ id }))

test('has the elements that a Set has, in its order, whatever is added and removed', () => {
  const step = fc.record({ isAdded: fc.boolean(), element: fc.constantFrom(...ELEMENTS) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const expected = new Set<object>()
      let set: SmallSet<object>
      for (const { isAdded, element } of steps) {
        if (isAdded) expected.add(element)
        else expected.delete(element)
        set = isAdded ? withElement(set, element) : withoutElement(set, element)
        expect(listOfSet(set)).toEqual([...expected])
        expect(set === undefined).toBe(expected.size === 0)
      }
    }),
    { numRuns: runs(1_000) },
  )
})

test('is the element itself while it is the only one', () => {
  const [one] = ELEMENTS
  expect(one && withElement(undefined, one)).toBe(one)
})
