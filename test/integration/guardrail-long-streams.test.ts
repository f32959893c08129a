// Guarded streams of up to 75 s: each arrives complete, and Envoy does not restart.

import { afterAll, beforeAll, beforeEach, test } from 'vitest'
import { type GuardedStack, startGuardedStack } from '../support/guardrails.js'
import { expectWholeStreams } from '../support/long-streams.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack()
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

test('streams of 35, 52, 60 and 75 s side by side come whole from one Envoy', async () => {
  await expectWholeStreams(stack)
}, 180_000)
