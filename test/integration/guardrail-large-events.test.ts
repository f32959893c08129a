// Stream events as large as bodies, plain and compressed: read while other requests are answered, and rejected beyond
// the limits.

import { gzipSync } from 'node:zlib'
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
import { delta, nextReply } from '../support/streaming-llm.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack(guardedBoth)
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const MB = 1024 * 1024
const says = (content: string): string => `data: ${JSON.stringify(delta({ content }))}\n\n`
const DONE = 'data: [DONE]\n\n'
const heldBytes = async (): Promise<number> =>
  Number(/^gatehouse_held_bytes (\S+)$/m.exec(await stack.metrics())?.[1])

test.each(['plain', 'compressed'])(
  'an event of megabytes, %s, arrives masked, and others are answered meanwhile',
  async (form) => {
    const stream = says('before ') + says('words and a secret, '.repeat(MB / 20)) + DONE
    const reply = nextReply(stack.llm, form === 'plain' ? {} : { 'content-encoding': 'gzip' })
    const giant = stack.post('/both', chat('x', { stream: true }))
    const { response } = await reply
    stack.llm.answer(answerJson(completion('fine')))
    response.end(form === 'plain' ? stream : gzipSync(stream))
    let isOver = false
    const over = giant.finally(() => (isOver = true))
    const answered: number[] = []
    while (!isOver) answered.push((await stack.post('/both', chat('hi'))).status)
    const { status, body } = await over
    expect(status).toBe(200)
    expect(body === stream.replaceAll('secret', '****')).toBe(true)
    expect(answered.length).toBeGreaterThan(5)
    expect(new Set(answered)).toEqual(new Set([200]))
    await eventually(async () => expect(await heldBytes()).toBe(0))
  },
)

test('an event of more values or levels than are read ends the stream with an error, unread', async () => {
  const values = Array.from({ length: 60_000 }, () => ({}))
  const levels = `${'['.repeat(200)}${']'.repeat(200)}`
  for (const more of [JSON.stringify(values), levels]) {
    const reply = nextReply(stack.llm)
    const answer = stack.post('/both', chat('x', { stream: true }))
    const { response } = await reply
    const event = `{"choices":[{"index":0,"delta":{"content":"a secret"}}],"x":${more}}`
    response.end(`${says('fine words')}data: ${event}\n\n${says('behind')}${DONE}`)
    const { body } = await answer
    expect(body).toContain('guardrail_unreadable')
    expect(body).not.toMatch(/secret|behind|DONE/)
  }
})

test('a client that disconnects while an event of megabytes is read leaves nothing', async () => {
  const leaving = new AbortController()
  const reply = nextReply(stack.llm, { 'content-encoding': 'gzip' })
  const answer = fetch(`${stack.origin}/both`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: chat('x', { stream: true }),
    signal: leaving.signal,
  }).then((got) => got.text())
  answer.catch(() => {})
  const { response } = await reply
  response.write(gzipSync(says('a word '.repeat(MB))))
  await eventually(async () => expect(await heldBytes()).toBeGreaterThan(0))
  leaving.abort()
  await eventually(async () => expect(await heldBytes()).toBe(0))
  stack.llm.answer(answerJson(completion('fine')))
  expect((await stack.post('/both', chat('hi'))).status).toBe(200)
})
