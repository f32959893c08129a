// A Gatehouse that is frozen with its connections open (SIGSTOP): Envoy detects it, and no caller waits for long.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { chat, type GuardedStack, startGuardedStack } from '../support/guardrails.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack([], { own: true })
  stack.reset()
})
afterAll(async () => {
  stack.child.kill('SIGCONT')
  await stack.close()
})

async function timeouts(): Promise<number> {
  const path = '/stats?filter=^cluster.gatehouse_ext_proc.http2.keepalive_timeout$'
  return Number((await (await fetch(stack.envoyAdmin + path)).text()).split(': ')[1])
}

test('a guarded request under way ends with 503 by the keepalive of its connection; awake again, it guards', async () => {
  let asked = 0
  stack.webhook.answer(() => (asked += 1))
  const answer = stack.post('/both', chat('a secret'))
  await eventually(() => expect(asked).toBe(1))
  const before = await timeouts()
  stack.child.kill('SIGSTOP')
  expect((await answer).status).toBe(503)
  // Nothing else ended it: without a PING it would still wait for its webhook, which has no deadline.
  expect(await timeouts()).toBeGreaterThan(before)
  expect((await stack.post('/both', chat('a secret'))).status).toBe(503)
  expect(stack.llm.requests).toEqual([])
  stack.child.kill('SIGCONT')
  stack.reset()
  await eventually(async () => expect((await stack.post('/both', chat('hi'))).status).toBe(200))
})
