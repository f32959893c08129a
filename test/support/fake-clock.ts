// Waits by Vitest's fake clock: pauses of the tested code take no time.

import { vi } from 'vitest'

const STEP_MS = 15

/** Replaces the timers, for the tests of a file. The real ones return with the function that it returns. */
export function fakeClock(): () => void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  return () => vi.useRealTimers()
}

/** Advances the clock until an assertion holds; after a timeout by this clock, rejects with its last failure. */
export async function eventually<T>(
  assertion: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<T> {
  for (let passed = 0; ; passed += STEP_MS) {
    try {
      return await assertion()
    } catch (failure) {
      if (passed > timeoutMs) throw failure
      await vi.advanceTimersByTimeAsync(STEP_MS)
    }
  }
}
