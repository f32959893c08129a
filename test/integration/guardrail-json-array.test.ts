// Gemini streams without alt=sse, which are one JSON array: guarded item by item as they arrive, and ended as an array
// (decision 20).

import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  answerJson,
  asked,
  both,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import {
  ARRAY_HEADERS,
  askForArray,
  END,
  type Item,
  item,
  itemsOf,
  said,
} from '../support/json-array.js'
import { nextReply, type OpenReply } from '../support/streaming-llm.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack([
    ...guardedRoute('/open', both(hook('guard', { failureMode: 'FailOpen' }))),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const ask = (path?: string) => askForArray(stack.origin, path)

/** The items of a whole reply, in pieces of this length. */
async function whole(body: string, { size = 5, path = '/both' } = {}): Promise<string> {
  const reply = nextReply(stack.llm, ARRAY_HEADERS)
  const response = ask(path)
  const llm = await reply
  for (let at = 0; at < body.length; at += size) llm.write(body.slice(at, at + size))
  llm.response.end()
  const { statusCode, headers } = await response
  expect(statusCode).toBe(200)
  expect(headers['content-type']).toBe(ARRAY_HEADERS['content-type'])
  return text(await response)
}

test('a word cut across items is masked, and the webhook saw it whole', async () => {
  const body = ` \n[${item('a se')}\n,\r\n${item('cr')},${item('et, "]')}\n,${item('', END)}]\n`
  const masked = await whole(body)
  expect(said(itemsOf(masked))).toBe('a ****, "]')
  expect(itemsOf(masked)).toHaveLength(4)
  const [window] = asked(stack.webhook).flatMap(({ choices }) => choices ?? [])
  expect(window?.message.content).toBe('a secret, "]')
})

test.each([
  ['items', `[${item('fine')}\r\n,\n${item(' words', END)}\n]\n`],
  ['no item', '[]'],
])('what no webhook changes passes byte for byte: %s', async (_name, body) => {
  expect(await whole(body)).toBe(body)
})

const LINES = Array.from({ length: 300 }, (_, at) => `line ${String(at)} of a long reply\n`)
const stream = (llm: OpenReply, lines: readonly string[], isFirst = true): void =>
  lines.forEach((line, at) => llm.write(`${isFirst && at === 0 ? '[' : ','}${item(line)}\n`))

test('text comes while the model speaks', async () => {
  const reply = nextReply(stack.llm, ARRAY_HEADERS)
  const response = ask()
  const llm = await reply
  stream(llm, LINES)
  const incoming = (await response).setEncoding('utf8')
  let got = ''
  let isEnded = false
  for await (const piece of incoming) {
    got += piece as string
    if (got.length < 8000 || isEnded) continue
    // This text left before the model's end.
    isEnded = true
    stream(llm, ['a secret'], false)
    llm.response.end(']')
  }
  expect(said(itemsOf(got))).toBe(`${LINES.join('')}a ****`)
})

test.each([
  ['after text', LINES],
  ['at once', []],
])('a reject %s is the last item of an array, and the model is left', async (_name, lines) => {
  const reply = nextReply(stack.llm, ARRAY_HEADERS)
  const response = ask()
  const llm = await reply
  let got = ''
  const block = (): void => stream(llm, ['now I block', ...LINES], lines.length === 0)
  stream(llm, lines)
  if (lines.length === 0) block()
  for await (const piece of (await response).setEncoding('utf8')) {
    if (got === '' && lines.length > 0) block()
    got += piece as string
  }
  const items = itemsOf(got)
  expect(items.at(-1)).toEqual({
    error: { code: 403, message: 'request blocked', status: 'PERMISSION_DENIED' },
  })
  expect(said(items)).not.toContain('block')
  expect(items.length > 1).toBe(lines.length > 0)
  await llm.closed
})

test.each([
  ['an item that cannot be read', `[${item('fine')},{"candidates":"a secret"}]`],
  ['no comma', `[${item('fine')} ${item('a secret')}]`],
  ['half an item', `[${item('fine')},{"candidates":[{"content":"a secret`],
  ['no object', '["a secret"]'],
])('%s ends the array with an error', async (_name, body) => {
  const answer = await whole(body)
  expect(itemsOf(answer).at(-1)).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } })
  expect(answer).not.toContain('secret')
})

test('an item that cannot be read passes with all that follows where all webhooks fail open', async () => {
  const body = `[${item('fine')},{"candidates":"a secret"},${item('and more')}]`
  expect(await whole(body, { path: '/open' })).toBe(body)
})

test('a reply that is one object is read as before', async () => {
  stack.llm.answer(answerJson(JSON.parse(item('a secret'))))
  const response = await ask()
  expect(response.headers).toHaveProperty('content-length')
  expect(said([JSON.parse(await text(response)) as Item])).toBe('a ****')
})
