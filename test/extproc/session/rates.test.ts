// Rate limits per key, for any number of keys.

import { beforeEach, describe, expect, test } from 'vitest'
import { createRates } from '../../../src/extproc/session/rates.js'

let now: number
beforeEach(() => (now = 1_000_000))

test('a burst, and then so many a second', () => {
  const rates = createRates({ perSecond: 2, burst: 3 }, () => now)
  const take = () => rates.take('a')
  expect([take(), take(), take(), take()]).toEqual([true, true, true, false])
  now += 500
  expect([take(), take()]).toEqual([true, false])
  now += 60_000
  expect([take(), take(), take(), take()]).toEqual([true, true, true, false])
})

test('a key takes nothing from another', () => {
  const rates = createRates({ perSecond: 1, burst: 1 }, () => now)
  expect(['a', 'a', 'b', 'b'].map((key) => rates.take(key))).toEqual([true, false, true, false])
})

describe('a flood of keys', () => {
  const limits = { perSecond: 1, burst: 2, maxKeys: 10 }

  test('shares a bucket beyond the table, and takes nothing from the keys in it', () => {
    const rates = createRates(limits, () => now)
    expect(rates.take('honest')).toBe(true)
    const taken = Array.from({ length: 1000 }, (_, i) => rates.take(`made up ${i}`))
    expect(taken.filter(Boolean)).toHaveLength(9 + 2)
    expect(rates.take('honest')).toBe(true)
  })

  test('leaves room for new keys a moment after it is over', () => {
    const rates = createRates(limits, () => now)
    for (let i = 0; i < 1000; i += 1) rates.take(`made up ${i}`)
    expect(rates.take('new')).toBe(false)
    now += 2000
    expect([rates.take('new'), rates.take('newer')]).toEqual([true, true])
  })
})
