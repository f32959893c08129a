// The quarter of the budget of held bytes that clients of which nothing is known share.

import { expect, test } from 'vitest'
import { createHeldBytes } from '../../../src/extproc/stream/held-bytes.js'

test('they have a quarter together, and all others the rest', () => {
  let refused = 0
  const all = createHeldBytes(1000, undefined, () => (refused += 1))
  const [one, other] = [all.forAnonymous(10).open(), all.forAnonymous(10).open()]
  expect([one.add(150), other.add(150), other.add(100)]).toEqual([true, false, true])
  expect([refused, all.held()]).toEqual([1, 250])
  const known = all.open()
  expect([known.add(750), known.add(1)]).toEqual([true, false])
  one.release()
  expect([other.become(200), other.become(251), all.held()]).toEqual([true, false, 950])
  other.release()
  known.release()
  expect(all.held()).toBe(0)
})

test('while the rest is full they have nothing, and what they were refused does not count', () => {
  const all = createHeldBytes(1000)
  const known = all.open()
  expect(known.add(950)).toBe(true)
  const anonymous = all.forAnonymous(10).open()
  expect([anonymous.add(60), all.held()]).toEqual([false, 950])
  known.release()
  expect(anonymous.add(250)).toBe(true)
})

test('the quarter has room for one body', () =>
  expect(createHeldBytes(1000).forAnonymous(400).open().add(400)).toBe(true))
