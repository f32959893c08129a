// The deadline of a body: it runs from the end of the turn in which the headers came, and stops with the body or the stream.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startBodyClock } from '../../../src/extproc/session/body-clock.js'
import { OwnEnding } from '../../../src/kit/ending.js'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

function start() {
  const ending = new OwnEnding()
  let over = 0
  const stop = startBodyClock(100, ending, () => (over += 1))
  return { ending, stop, over: () => over }
}

test('a body that does not come in time is over, once', async () => {
  const { over } = start()
  await vi.advanceTimersByTimeAsync(99)
  expect(over()).toBe(0)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(over()).toBe(1)
})

test('a body that is there already has no timer', async () => {
  const { stop, over } = start()
  stop()
  await vi.advanceTimersByTimeAsync(0)
  expect(vi.getTimerCount()).toBe(0)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(over()).toBe(0)
})

test.each([
  ['the body', (clock: ReturnType<typeof start>) => clock.stop()],
  ['the stream', (clock: ReturnType<typeof start>) => clock.ending.abort()],
])('the end of %s stops it, before and after it runs', async (_name, end) => {
  for (const ms of [0, 50]) {
    const clock = start()
    if (ms > 0) await vi.advanceTimersByTimeAsync(ms)
    end(clock)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(clock.over()).toBe(0)
    expect(vi.getTimerCount()).toBe(0)
  }
})
