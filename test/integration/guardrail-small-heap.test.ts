// Bodies of 10 MiB that are nothing but empty values, at a heap of 512 MB: they are refused, and everybody else is served.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { answerJson, chat, type GuardedStack, startGuardedStack } from '../support/guardrails.js'

const MOST = 10 * 1024 * 1024
const AT_ONCE = 4

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack([], {
    environment: { NODE_OPTIONS: '--max-old-space-size=512' },
  })
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

/** A JSON array of this many bytes. */
function arrayOf(value: string): string {
  const count = Math.floor((MOST - 2) / (value.length + 1))
  return `[${Array.from({ length: count }, () => value).join(',')}]`
}

test.each(['{}', '[[[]]]'])('prompts and replies of %s', async (value) => {
  const body = arrayOf(value)
  const sent = await Promise.all(Array.from({ length: AT_ONCE }, () => stack.post('/both', body)))
  // 503: there is no room for all of them at once.
  for (const { status } of sent) expect([400, 503]).toContain(status)
  expect(sent.map(({ status }) => status)).toContain(400)
  expect(stack.llm.requests).toEqual([])
  stack.llm.answer(answerJson(JSON.parse(body) as object))
  const replied = await Promise.all(
    Array.from({ length: AT_ONCE }, () => stack.post('/both', chat('hi'))),
  )
  for (const { status } of replied) expect(status).toBe(503)
  stack.reset()
  expect((await stack.post('/both', chat('hi'))).status).toBe(200)
  expect(stack.child.exitCode).toBeNull()
})
