// Streams in which every piece claims to be the last: what is passed on is one text, through the whole product.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { chat, type GuardedStack, startGuardedStack } from '../support/guardrails.js'
import { nextReply } from '../support/streaming-llm.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack()
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const choiceOf = (content: string): object => ({ index: 0, delta: { content } })
const geminiPart = (text: string): object => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }],
})

test.each<[string, (text: string) => object]>([
  ['a reason', (content) => ({ choices: [{ ...choiceOf(content), finish_reason: 'stop' }] })],
  ['an empty reason', (content) => ({ choices: [{ ...choiceOf(content), finish_reason: '' }] })],
  ['a reason of Gemini', geminiPart],
])('%s to end with every piece is not the end of the text', async (_name, event) => {
  const reply = nextReply(stack.llm)
  const answer = stack.post('/both', chat('x', { stream: true }))
  const llm = await reply
  for (const text of ['a sec', 'ret', ' that', ' may be told']) llm.event(event(text))
  llm.end()
  const { body } = await answer
  expect(body).toContain('a ****')
  expect(body).not.toContain('ret"')
})
