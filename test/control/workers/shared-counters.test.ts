// Counters of several processes: each adds its own, and the limit applies to the sum.

import { afterEach, expect, test } from 'vitest'
import {
  type CountersFile,
  createCountersFile,
  openCounters,
} from '../../../src/control/workers/shared-counters.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { createSlots } from '../../../src/extproc/session/slots.js'

let file: CountersFile | undefined

afterEach(() => file?.close())

function four() {
  const own = createCountersFile(4)
  file = own
  return { own, counters: [1, 2, 3, 4].map((worker) => openCounters(own.fd, worker, 4)) }
}

test('bytes that one holds are not there for another, until they are let go', () => {
  const { counters } = four()
  const budgets = counters.map(({ heldBytes }) => createHeldBytes(100, heldBytes))
  const holds = budgets.map((budget) => budget.open())
  expect(holds.map((hold) => hold.add(40))).toEqual([true, true, false, false])
  expect(holds[2]?.add(20)).toBe(true)
  expect(budgets.map((budget) => budget.held())).toEqual([40, 40, 20, 0])
  holds[0]?.release()
  expect(holds[3]?.become(40)).toBe(true)
  expect(holds[3]?.become(41)).toBe(false)
  expect(holds[3]?.become(10)).toBe(true)
  expect(budgets[3]?.held()).toBe(10)
})

test('slots of a name are those of all; another name has its own', () => {
  const { counters } = four()
  const slots = counters.map((one) => createSlots(3, (name) => one.named(name)))
  const taken = slots.map((one) => one.take('provider'))
  expect(taken.map((give) => give !== undefined)).toEqual([true, true, true, false])
  expect(slots[3]?.take('another')).toBeDefined()
  taken[1]?.()
  expect(slots[3]?.take('provider')).toBeDefined()
  expect(slots[1]?.take('provider')).toBeUndefined()
})

test('what a worker held that has ended is free', () => {
  const { own, counters } = four()
  const [first, second] = counters.map(({ heldBytes }) => createHeldBytes(100, heldBytes).open())
  expect([first?.add(100), second?.add(1)]).toEqual([true, false])
  own.clear(1)
  expect(second?.add(100)).toBe(true)
})
