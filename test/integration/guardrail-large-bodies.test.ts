// Bodies that are large or have many parts: what is held, rejected and released.

import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import {
  answerJson,
  chat,
  completion,
  guardedBoth,
  type GuardedStack,
  startGuardedStack,
} from '../support/guardrails.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack(guardedBoth, {
    flags: ['--held-bytes', '30MiB', '--body-timeout', '8s'],
  })
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

/** A request of which this number of bytes of a larger body has been sent. */
function unfinished(bytes: number): { request: ClientRequest; answer: Promise<IncomingMessage> } {
  const request = httpRequest(`${stack.origin}/both`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  })
  request.on('error', () => {})
  const answer = once(request, 'response').then(([response]) => response as IncomingMessage)
  answer.catch(() => {})
  request.write(' '.repeat(bytes))
  return { request, answer }
}

const heldBytes = async (): Promise<number> =>
  Number(/^gatehouse_held_bytes (\S+)$/m.exec(await stack.metrics())?.[1])

test('unfinished bodies hold no more than the budget, and for no longer than their time', async () => {
  const all = Array.from({ length: 5 }, () => unfinished(9 * 1024 * 1024))
  const answers = await Promise.all(
    all.map(async ({ answer }) => {
      const response = await answer
      response.resume()
      return [response.statusCode, response.headers['retry-after']] as const
    }),
  )
  expect(answers.filter(([status]) => status === 408)).toHaveLength(3)
  expect(answers.filter(([status, after]) => status === 503 && after === '5')).toHaveLength(2)
  for (const { request } of all) request.destroy()
  await eventually(async () => expect(await heldBytes()).toBe(0))
  expect((await stack.post('/both', chat('hi'))).status).toBe(200)
})

test('what is held is seen while it is, and gone with the client', async () => {
  const { request } = unfinished(1024 * 1024)
  await eventually(async () => expect(await heldBytes()).toBe(1024 * 1024))
  request.destroy()
  await eventually(async () => expect(await heldBytes()).toBe(0))
})
