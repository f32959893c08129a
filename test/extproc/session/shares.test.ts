// The shares of the budget of held bytes: of clients of which nothing is known, and of each namespace.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCountersFile, openCounters } from '../../../src/control/workers/shared-counters.js'
import {
  createHeldBytes,
  type HeldBytes,
  type Hold,
} from '../../../src/extproc/session/held-bytes.js'
import type { BodyOwner } from '../../../src/extproc/session/shares.js'
import { runs } from '../../support/runs.js'

const owner = (changes: Partial<BodyOwner> = {}): BodyOwner => ({
  namespace: 'a',
  isAlone: true,
  isKnown: () => false,
  roomOfOne: 10,
  ...changes,
})
const known = { isKnown: () => true }
const opened = (all: HeldBytes, changes?: Partial<BodyOwner>): Hold =>
  all.forOwner(owner(changes)).open()

describe('clients of which nothing is known', () => {
  test('have a quarter together, and all others the rest', () => {
    let refused = 0
    const all = createHeldBytes(1000, undefined, () => (refused += 1))
    const [one, other] = [opened(all), opened(all)]
    expect([one.add(150), other.add(150), other.add(100)]).toEqual([true, false, true])
    expect([refused, all.held()]).toEqual([1, 250])
    const rest = opened(all, known)
    expect([rest.add(750), rest.add(1)]).toEqual([true, false])
    one.release()
    expect([other.become(200), other.become(251), all.held()]).toEqual([true, false, 950])
    other.release()
    rest.release()
    expect(all.held()).toBe(0)
  })

  test('have nothing while the rest is full, and what they were refused does not count', () => {
    const all = createHeldBytes(1000)
    const rest = opened(all, known)
    expect(rest.add(950)).toBe(true)
    const hold = opened(all)
    expect([hold.add(60), all.held()]).toEqual([false, 950])
    rest.release()
    expect(hold.add(250)).toBe(true)
  })

  test('have room for one body', () =>
    expect(opened(createHeldBytes(1000), { roomOfOne: 400 }).add(400)).toBe(true))

  test('of one namespace leave room to those of another', () => {
    const all = createHeldBytes(1000)
    const of = (namespace: string): Hold => opened(all, { namespace, isAlone: false })
    const [a, b, c] = [of('a'), of('b'), of('c')]
    expect([a.add(126), a.add(125), b.add(63), b.add(62), c.add(31)]).toEqual([
      false,
      true,
      false,
      true,
      true,
    ])
  })

  test('that become known before a body is held count as known', () => {
    let isKnown = false
    const hold = opened(createHeldBytes(1000), { isKnown: () => isKnown })
    isKnown = true
    expect(hold.add(1000)).toBe(true)
    isKnown = false
    expect([hold.add(1), hold.become(0), hold.add(251)]).toEqual([false, true, true])
  })
})

describe('a namespace', () => {
  test('alone has everything', () => {
    const all = createHeldBytes(1000)
    expect([opened(all, known).add(1000), all.held()]).toEqual([true, 1000])
  })

  test('beside others has half, and a body of the largest size in any case', () => {
    const beside = { ...known, isAlone: false }
    const of = (roomOfOne: number): Hold => opened(createHeldBytes(1000), { ...beside, roomOfOne })
    expect([of(10).add(501), of(10).add(500), of(900).add(901), of(900).add(900)]).toEqual([
      false,
      true,
      false,
      true,
    ])
  })

  test('has half of it for copies that are audited', () => {
    const all = createHeldBytes(1000)
    const copies = (changes: Partial<BodyOwner>): Hold =>
      all
        .forOwner(owner({ ...known, ...changes }))
        .forCopies()
        .open()
    expect([copies({ isAlone: false }).add(251), copies({}).add(501)]).toEqual([false, false])
    expect(copies({ isAlone: false }).add(250)).toBe(true)
    expect([copies({}).add(251), copies({}).add(250)]).toEqual([false, true])
  })
})

interface Step {
  readonly namespace: string
  readonly isKnown: boolean
  /** Negative: lets everything go. */
  readonly bytes: number
}

const step: fc.Arbitrary<Step> = fc.record({
  namespace: fc.constantFrom('a', 'b', 'c', 'd'),
  isKnown: fc.boolean(),
  bytes: fc.integer({ min: -1, max: 600 }),
})

/** Runs the steps, each in one of the processes that the budgets are of. */
function run(budgets: readonly HeldBytes[], steps: readonly Step[]) {
  const holds = new Map<string, { readonly hold: Hold; bytes: number }>()
  const sum = (pattern: RegExp): number =>
    [...holds].reduce((all, [name, { bytes }]) => (pattern.test(name) ? all + bytes : all), 0)
  for (const [index, { namespace, isKnown, bytes }] of steps.entries()) {
    const process = index % budgets.length
    const name = `${namespace} ${isKnown ? 'known' : 'unknown'} ${process}`
    const given = { namespace, isAlone: false, isKnown: () => isKnown }
    const one = holds.get(name) ?? { hold: opened(budgets[process] as HeldBytes, given), bytes: 0 }
    holds.set(name, one)
    if (bytes < 0) one.hold.release()
    if (bytes < 0) one.bytes = 0
    else if (one.hold.add(bytes)) one.bytes += bytes
    expect(sum(/./)).toBe(budgets.reduce((all, budget) => all + budget.held(), 0))
    expect(sum(/unknown/)).toBeLessThanOrEqual(250)
    for (const other of ['a', 'b', 'c', 'd'])
      expect(sum(new RegExp(`^${other}`))).toBeLessThanOrEqual(500)
  }
  return { free: 1000 - sum(/./), freeForUnknown: 250 - sum(/unknown/) }
}

test('none has more than half, and one that has nothing gets half of what is free, which there always is', () =>
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(1, 3), (steps, processes) => {
      const file = createCountersFile(processes)
      const counters = Array.from({ length: processes }, (_, at) =>
        openCounters(file.fd, at + 1, processes),
      )
      const budgets = counters.map(({ heldBytes, callers }) =>
        createHeldBytes(1000, heldBytes, undefined, callers),
      )
      try {
        const { free, freeForUnknown } = run(budgets, steps)
        const [first = createHeldBytes(0)] = budgets
        const newcomer = { namespace: 'new', isAlone: false }
        expect(free).toBeGreaterThan(1000 / 2 ** 5)
        const hold = opened(first, { ...newcomer, ...known })
        expect(hold.add(Math.floor(free / 2))).toBe(true)
        hold.release()
        expect(freeForUnknown).toBeGreaterThan(250 / 2 ** 5)
        const most = Math.floor(Math.min(free, freeForUnknown) / 2)
        expect(opened(first, newcomer).add(most)).toBe(true)
      } finally {
        file.close()
      }
    }),
    { numRuns: runs(300) },
  ))
