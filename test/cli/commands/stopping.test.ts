// Whether a command has failed or is being stopped, where Ctrl-C ends its children first.

import { expect, test } from 'vitest'
import { isStopping } from '../../../src/cli/commands/stopping.js'

test('a signal before the failure, or soon after it, is a stop; without one it is a failure', async () => {
  const [before, after] = [new AbortController(), new AbortController()]
  before.abort()
  setImmediate(() => after.abort())
  const never = new AbortController().signal
  expect(
    await Promise.all([isStopping(before.signal), isStopping(after.signal), isStopping(never)]),
  ).toEqual([true, true, false])
})
