// Bodies that are large or have many parts: what of them is held, refused and given back.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  answerJson,
  chat,
  completion,
  guardedBoth,
  startGuardedStack,
  type GuardedStack,
} from '../support/guardrails.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack(guardedBoth)
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

test('more values than are read: 400 for a prompt, 503 for a reply', async () => {
  const many = Array.from({ length: 100_000 }, () => ({}))
  const sent = await stack.post('/both', JSON.stringify({ messages: [], x: many }))
  expect(sent).toMatchObject({ status: 400 })
  expect(sent.body).toContain('it holds too many values')
  stack.llm.answer(answerJson({ ...completion('a secret'), x: many }))
  const replied = await stack.post('/both', chat('hi'))
  expect(replied).toMatchObject({ status: 503 })
  expect(replied.body).not.toContain('secret')
})

test('vectors of half a million numbers are read', async () => {
  const data = Array.from({ length: 250 }, (_, index) => ({
    object: 'embedding',
    index,
    embedding: Array.from({ length: 2000 }, () => 0.5),
  }))
  stack.llm.answer(answerJson({ object: 'list', data }))
  const tokens = { model: 'm', input: ['x'] }
  expect((await stack.post('/both/v1/embeddings', JSON.stringify(tokens))).status).toBe(200)
})
