// Work in slices: other tasks run in between, short work is done at once, and an end or a failure stops it.

import { describe, expect, test } from 'vitest'
import { OwnEnding } from '../../src/kit/ending.js'
import {
  atOnce,
  inTurns,
  joinTexts,
  mapEach,
  mapWork,
  Pace,
  PIECE,
  SLICE_UNITS,
  soonInTurns,
  timedSlices,
  type Work,
} from '../../src/kit/turns.js'

function* countTo(last: number, log: (number | string)[]): Work<string> {
  for (let count = 1; count <= last; count += 1) {
    log.push(count)
    yield
  }
  return 'done'
}

/** Slices of this many steps. */
function slicesOf(steps: number) {
  let left = 0
  return { begin: () => void (left = steps), isOver: () => --left <= 0 }
}

describe('work in turns', () => {
  test('lets other tasks run when a slice is over, and only then', async () => {
    const log: (number | string)[] = []
    setImmediate(() => log.push('other'))
    const result = inTurns(countTo(4, log), undefined, slicesOf(2))
    expect(log).toEqual([1, 2])
    expect(await result).toBe('done')
    expect(log).toEqual([1, 2, 'other', 3, 4])
  })

  test('that ends within its first slice gives its result at once', () => {
    expect(inTurns(countTo(2, []), undefined, slicesOf(3))).toBe('done')
  })

  test('does nothing more after the end, and has no result', async () => {
    const log: (number | string)[] = []
    const ending = new OwnEnding()
    const result = inTurns(countTo(4, log), ending, slicesOf(1))
    ending.abort()
    expect(await result).toBeUndefined()
    expect(log).toEqual([1])
  })

  test('that fails in a later slice rejects', async () => {
    function* broken(): Work<string> {
      yield* countTo(2, [])
      throw new Error('broken')
    }
    await expect(inTurns(broken(), undefined, slicesOf(1))).rejects.toThrow('broken')
    expect(() => inTurns(broken(), undefined, slicesOf(9))).toThrow('broken')
  })
})

describe('work that is mostly short', () => {
  test('gives its result at once', () => {
    expect(soonInTurns(() => 'short')).toBe('short')
    expect(soonInTurns(() => countTo(0, []))).toBe('done')
    expect(soonInTurns(() => ({ next: 'of no work' }))).toEqual({ next: 'of no work' })
  })

  test('lets other tasks run if it is long, and ends with its signal', async () => {
    const log: (number | string)[] = []
    setImmediate(() => log.push('other'))
    const result = soonInTurns(() => countTo(1, log))
    expect(await result).toBe('done')
    expect(log).toEqual([1, 'other'])
    const ending = new OwnEnding()
    const ended = soonInTurns(() => countTo(4, log), ending)
    ending.abort()
    expect(await ended).toBeUndefined()
  })

  test('waits for the next turn once others have taken the time of this one', async () => {
    const busy = (): string => {
      const end = performance.now() + 5
      while (performance.now() < end);
      return 'long'
    }
    expect(soonInTurns(busy)).toBe('long')
    const late = soonInTurns(() => 'short')
    const lateWork = soonInTurns(() => countTo(2, []))
    expect(late).toBeInstanceOf(Promise)
    expect(await Promise.all([late, lateWork])).toEqual(['short', 'done'])
  })
})

test('a timed slice is over when its time is, counted from where it began', () => {
  let now = 0
  const slice = timedSlices(() => now, 4)
  slice.begin()
  now = 3
  expect(slice.isOver()).toBe(false)
  now = 4
  expect(slice.isOver()).toBe(true)
  now = 100
  slice.begin()
  expect(slice.isOver()).toBe(false)
})

test('each element of a list is a step of its own', () => {
  const work = mapEach([1, 2, 3], (value) => value * 2)
  expect([work.next(), work.next(), work.next()].map(({ done }) => done)).toEqual([
    false,
    false,
    false,
  ])
  expect(work.next()).toEqual({ done: true, value: [2, 4, 6] })
  const nested = mapWork([[1], [2, 3]], (values) => mapEach(values, String))
  expect(atOnce(nested)).toEqual([['1'], ['2', '3']])
})

describe('texts are joined in slices', () => {
  test.each([
    ['none', [], 1],
    ['one', ['a'], 1],
    ['long ones', Array.from({ length: 100 }, () => 'ж'.repeat(PIECE)), 8],
    ['many short ones', Array.from({ length: 64 * SLICE_UNITS }, (_, at) => String(at % 10)), 4],
  ])('%s', (_name, texts, atLeast) => {
    const work = joinTexts(texts, new Pace())
    let slices = 1
    let step = work.next()
    for (; step.done !== true; slices += 1) step = work.next()
    expect(step.value === texts.join('')).toBe(true)
    expect(slices).toBeGreaterThanOrEqual(atLeast)
  })
})
