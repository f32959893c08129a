// What a client can do to keep a webhook from giving a verdict: with FailOpen, too, nothing passes unseen by it.

import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  type Reply,
  startGuardedStack,
} from '../support/guardrails.js'

let stack: GuardedStack

const open = (more: object = {}): object => hook('guard', { failureMode: 'FailOpen', ...more })

beforeAll(async () => {
  const headers = { 'x-model': 'llmRequest.model', 'x-from': 'request.headers["x-from"]' }
  stack = await startGuardedStack([
    ...guardedRoute('/request', { request: [open()] }),
    ...guardedRoute('/response', { response: [open()] }),
    ...guardedRoute('/open', both(open())),
    ...guardedRoute('/calls', { request: [open({ inspectToolCalls: true })] }),
    ...guardedRoute('/headers', { request: [open({ headers })] }),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const MIB = 1024 * 1024

const ANSWERS: Readonly<Record<string, Reply>> = {
  ...Object.fromEntries(
    [400, 413, 414, 422, 431].map((status) => [`answers ${status}`, answerJson({}, status)]),
  ),
  'answers 11 MiB': answerJson({ action: { reason: 'x'.repeat(11 * MIB) } }),
  'answers 11 MiB in pieces': (_request, response) => {
    response.write('{"action":{"reason":"')
    for (let mib = 0; mib < 11; mib++) response.write('x'.repeat(MIB))
    response.end('"}}')
  },
  'unpacks to 11 MiB': (_request, response) =>
    void response
      .writeHead(200, { 'content-encoding': 'gzip' })
      .end(gzipSync(`{"action":{"reason":"${'x'.repeat(11 * MIB)}"}}`)),
}

test.each(Object.entries(ANSWERS))(
  'a webhook that %s, as it does to a question that is too long or odd: 503',
  async (_way, answer) => {
    stack.llm.answer(answerJson(completion('the secret')))
    stack.webhook.answer(answer)
    for (const path of ['/request', '/response']) {
      const refused = await stack.post(path, chat('my secret'))
      expect(refused.status).toBe(503)
      expect(refused.body).not.toContain('secret')
    }
    expect(stack.llm.requests).toHaveLength(1)
  },
)

test('half of a surrogate pair in a request: 400, wherever it is', async () => {
  for (const half of [
    String.raw`{"model":"m","messages":[{"role":"user","content":"secret \ud83d x"}]}`,
    String.raw`{"model":"\ude00","messages":[{"role":"user","content":"secret"}]}`,
    String.raw`{"model":"m","messages":[{"role":"user","content":"secret"}],"metadata":{"\ud83d":"x"}}`,
  ]) {
    const answer = await stack.post('/open', half)
    expect(answer.status).toBe(400)
    expect(answer.body).toContain('half of a surrogate pair')
  }
  expect(stack.llm.requests).toEqual([])
  const pair = String.raw`{"model":"m","messages":[{"role":"user","content":"\ud83d\ude00"}]}`
  expect((await stack.post('/open', pair)).status).toBe(200)
})

test.each([
  ['a header', chat('my secret'), { 'x-from': 'x'.repeat(20_000) }],
  ['a model', chat('my secret').replace('"m"', `"${'m'.repeat(20_000)}"`), {}],
])('%s of 20 kB for webhook.headers: 503, and nobody is asked', async (_what, body, headers) => {
  expect((await stack.post('/headers', body, headers)).status).toBe(503)
  expect(stack.webhook.requests).toEqual([])
  expect(stack.llm.requests).toEqual([])
  expect((await stack.post('/headers', chat('hi'), { 'x-from': 'x'.repeat(8000) })).status).toBe(
    200,
  )
  expect(stack.webhook.requests[0]?.headers['x-from']).toHaveLength(8000)
})

test('what a webhook would mask, but cannot: a tool call that would no longer be JSON: 503', async () => {
  const call = { id: 't', type: 'function', function: { name: 'f', arguments: '{"n":4111}' } }
  const messages = [{ role: 'assistant', content: null, tool_calls: [call] }]
  stack.webhook.answer((request, response) => {
    const masked = request.body.replace('4111', '####')
    response.end(
      JSON.stringify({ action: { body: (JSON.parse(masked) as { body: object }).body } }),
    )
  })
  const answer = await stack.post('/calls', JSON.stringify({ model: 'm', messages }))
  expect(answer.status).toBe(503)
  expect(stack.llm.requests).toEqual([])
})

/** The log probabilities of a token with 20 alternatives, as OpenAI's models give them. */
function probable(token: string): object {
  const one = { token, logprob: -0.5, bytes: [...Buffer.from(token)] }
  return { ...one, top_logprobs: Array.from({ length: 20 }, () => one) }
}

test('a long reply with 20 log probabilities of each token is read, and masked', async () => {
  const words = Array.from({ length: 2000 }, (_, index) => `${String(index)} `)
  const reply = completion(`${words.join('')}the secret`)
  const content = [...words, 'the ', 'secret'].map(probable)
  const choices = reply.choices.map((choice) => ({ ...choice, logprobs: { content } }))
  stack.llm.answer(answerJson({ ...reply, choices }))
  const answer = await stack.post('/response', chat('hi'))
  expect(answer.status).toBe(200)
  expect(answer.body).not.toContain('secret')
  expect(JSON.parse(answer.body)).toMatchObject({
    choices: [{ message: { content: `${words.join('')}the ****` }, logprobs: null }],
  })
})

test.each<[string, object]>([
  ['values', { choices: Array.from({ length: 60_000 }, () => ({ text: 'secret' })) }],
  ['texts', { choices: [{ text: 'a', more: Array.from({ length: 40_000 }, () => 'secret') }] }],
])('a reply with more %s than are read: 503', async (_what, reply) => {
  stack.llm.answer(answerJson({ object: 'text_completion', ...reply }))
  const answer = await stack.post('/response', chat('hi'))
  expect(answer.status).toBe(503)
  expect(answer.body).not.toContain('secret')
})
