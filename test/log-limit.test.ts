import { expect, test } from 'vitest'
import { createLogLimit } from '../src/log-limit.js'

test('a key has one line in ten seconds, which says how many were left out', () => {
  let now = 1_000
  const limit = createLogLimit(() => now)
  expect([limit.take('a'), limit.take('a'), limit.take('b'), limit.take('a')]).toEqual([
    0,
    undefined,
    0,
    undefined,
  ])
  now += 9_999
  expect(limit.take('a')).toBeUndefined()
  now += 1
  expect(limit.take('a')).toBe(3)
})

test('a clock that was set back does not silence a key', () => {
  let now = 1_000_000
  const limit = createLogLimit(() => now)
  limit.take('a')
  now = 0
  expect(limit.take('a')).toBe(0)
})

test('ever new keys have few lines too, and are forgotten', () => {
  let now = 0
  const limit = createLogLimit(() => now)
  const lines = (from: number) =>
    Array.from({ length: 10_000 }, (_, i) => limit.take(`key ${from + i}`)).filter(
      (taken) => taken !== undefined,
    ).length
  expect(lines(0)).toBe(257)
  now += 10_000
  expect(limit.take('key 0')).toBe(0)
  expect(lines(20_000)).toBeLessThanOrEqual(257)
})
