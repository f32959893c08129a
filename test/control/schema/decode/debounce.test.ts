import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { debounce } from '../../../../src/control/schema/decode/debounce.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

it('runs once, when it has been quiet for a while', () => {
  const run = vi.fn()
  const debounced = debounce(run, { quiet: 50, maxWait: 400 })
  debounced.call()
  vi.advanceTimersByTime(40)
  debounced.call()
  vi.advanceTimersByTime(49)
  expect(run).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(run).toHaveBeenCalledTimes(1)
})

it('waits no longer than the most, however often it is called', () => {
  const run = vi.fn()
  const debounced = debounce(run, { quiet: 50, maxWait: 400 })
  for (let elapsed = 0; elapsed < 1000; elapsed += 10) {
    debounced.call()
    vi.advanceTimersByTime(10)
  }
  expect(run).toHaveBeenCalledTimes(2)
})

it('does not run once it is cancelled', () => {
  const run = vi.fn()
  const debounced = debounce(run, { quiet: 50, maxWait: 400 })
  debounced.call()
  debounced.cancel()
  vi.advanceTimersByTime(1000)
  expect(run).not.toHaveBeenCalled()
})
