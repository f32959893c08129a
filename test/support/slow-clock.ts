// A clock that moves by a millisecond at each look, so that how often long work gives way depends on its steps alone, not on
// the speed of the machine.

import { onTestFinished, vi } from 'vitest'

/** Replaces performance.now() until the end of the test. */
export function slowClock(): void {
  let now = performance.now()
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1))
  onTestFinished(() => spy.mockRestore())
}
