import { afterEach, expect, test, vi } from 'vitest'
import { createLogLimit } from '../../src/kit/log-limit.js'

afterEach(() => {
  vi.useRealTimers()
})

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

/** Counts how often each key is taken in lines, in those that they say were left out, and in what is told later. */
function counting(now: () => number) {
  const limit = createLogLimit(now)
  let [told, taken] = [0, 0]
  return {
    limit,
    told: () => told,
    taken: () => taken,
    take: (key: string): void => {
      taken += 1
      const leftOut = limit.take(key, { rest: (left) => (told += left) })
      if (leftOut !== undefined) told += 1 + leftOut
    },
  }
}

test('those left out when a flood ends are told ten seconds after its line', () => {
  vi.useFakeTimers()
  const { take, told, taken } = counting(() => Date.now())
  for (let second = 0; second < 4; second++) {
    for (let count = 0; count < 1_000; count++) take(`key ${second}`)
    vi.advanceTimersByTime(1_000)
  }
  expect(told()).toBe(4)
  vi.advanceTimersByTime(10_000)
  expect(told()).toBe(taken())
  expect(vi.getTimerCount()).toBe(0)
})

test('those of keys that are forgotten to make room, and of too many keys, are told as well', () => {
  vi.useFakeTimers()
  const { take, told, taken } = counting(() => Date.now())
  for (let round = 0; round < 3; round++) {
    for (let count = 0; count < 2_000; count++) take(`key ${round} ${count % 1_000}`)
    vi.setSystemTime(Date.now() + 10_000)
  }
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(20_000)
  expect(told()).toBe(taken())
})

test('those left out at the end of the process are told at once', () => {
  vi.useFakeTimers()
  const { limit, take, told, taken } = counting(() => Date.now())
  for (let count = 0; count < 1_000; count++) take(`key ${count % 300}`)
  limit.flush()
  expect(told()).toBe(taken())
  expect(vi.getTimerCount()).toBe(0)
})
