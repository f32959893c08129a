// Bodies on guarded routes: unreadable and too large ones are rejected, and those of other formats than LLM APIs pass.

import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { send } from '../support/http.js'

const MAX_BODY = 256 * 1024

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack(
    guardedRoute('/open', both(hook('guard', { failureMode: 'FailOpen' }))),
    { flags: ['--max-body-bytes', String(MAX_BODY)] },
  )
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

test.each([
  ['not JSON', '{"messages":'],
  ['a member twice', '{"messages":[],"messages":[{"role":"user","content":"x"}]}'],
  ['a member in another case', '{"messages":[],"Messages":[{"role":"user","content":"x"}]}'],
  ['an unknown form', '{"query":"x"}'],
  ['two forms at once', '{"messages":[],"input":"x"}'],
  ['an odd name', '{"messages":[{"role":"user","content":"x","a name with blanks":"x"}]}'],
  ['too deep', `{"messages":[],"x":${'['.repeat(200)}${']'.repeat(200)}}`],
])('%s: 400, and the LLM is not asked, also when webhooks fail open', async (_name, body) => {
  for (const path of ['/both', '/open']) expect((await stack.post(path, body)).status).toBe(400)
  expect(stack.llm.requests).toEqual([])
  expect(stack.webhook.requests).toEqual([])
})

const SECRET = chat('a secret €')
test.each([
  ['zstd', zstdCompressSync(SECRET)],
  ['gzip', gzipSync(SECRET)],
  ['br', brotliCompressSync(SECRET)],
  ['deflate', deflateSync(SECRET)],
] as const)(
  'a request in %s is masked, and goes on without its encoding',
  async (encoding, body) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    const { status } = await fetch(`${stack.origin}/both/v1/chat/completions`, {
      method: 'POST',
      headers,
      body,
    })
    const [asked] = stack.llm.requests
    expect([status, asked?.body]).toEqual([200, SECRET.replace('secret', '****')])
    expect(asked?.headers).not.toHaveProperty('content-encoding')
    expect(asked?.headers).toHaveProperty(
      'content-length',
      String(Buffer.byteLength(asked?.body ?? '')),
    )
  },
)

test('a content type that lies, and an encoding that the body does not have: 400', async () => {
  for (const type of ['text/plain', `application/json${' '.repeat(50_000)}x`])
    expect((await stack.post('/both', chat('x'), { 'content-type': type })).status).toBe(400)
  expect((await stack.post('/both', chat('x'), { 'content-encoding': 'gzip' })).status).toBe(400)
})

test('beyond --max-body-bytes: 413, with and without Content-Length', async () => {
  const large = chat('x'.repeat(MAX_BODY))
  expect((await stack.post('/both', large)).status).toBe(413)
  expect((await stack.post('/both', large, { 'transfer-encoding': 'chunked' })).status).toBe(413)
  const most = chat('x'.repeat(MAX_BODY - 100))
  expect((await stack.post('/both', most, { 'transfer-encoding': 'chunked' })).status).toBe(200)
  expect(stack.llm.requests.map(({ body }) => body)).toEqual([most])
})

test('a GET is untouched, and so is its reply if it has no text', async () => {
  const models = JSON.stringify({ object: 'list', data: [{ id: 'm', object: 'model' }] })
  stack.llm.answer((_request, response) => void response.end(models))
  expect((await send(stack.origin, '/both/v1/models')).body).toBe(models)
  expect((await send(stack.origin, '/both/v1/models', { method: 'HEAD' })).status).toBe(200)
  expect(stack.webhook.requests).toEqual([])
  stack.llm.answer(answerJson(completion('a secret')))
  const stored = await send(stack.origin, '/both/v1/chat/completions/c1')
  expect(stored.body).toContain('a ****')
})

test.each([
  ['a list of completions', { data: [completion('a secret')] }],
  ['thinking', { thinking: 'a secret' }],
  ['a refusal', [{ refusal: 'a secret' }]],
  ['a transcript', { id: 'x', audio: { transcript: 'a secret' } }],
])('the reply to a GET is masked: %s', async (_name, said) => {
  stack.llm.answer(answerJson(said))
  const answer = await send(stack.origin, '/both/v1/stored')
  expect(answer.status).toBe(200)
  expect(answer.body).toBe(JSON.stringify(said).replace('secret', '****'))
})

test.each([
  ['lines of JSON behind blanks', Buffer.from(`${' '.repeat(2000)}{"a":1}\n{"text":"a secret"}\n`)],
  ['one byte that is not UTF-8', Buffer.from('{"text":"a secret \xff"}', 'latin1')],
  ['a page', Buffer.from('<p>a secret</p>')],
])('the reply to a GET that cannot be read: 503, %s', async (_name, bytes) => {
  stack.llm.answer((_request, response) => void response.end(bytes))
  const answer = await send(stack.origin, '/both/v1/stored')
  expect(answer.status).toBe(503)
  expect(answer.body).not.toContain('secret')
  expect((await send(stack.origin, '/open/v1/stored')).body).toContain('a secret')
})

test('an error of the LLM that says nothing else than settings reaches the client unasked', async () => {
  const body = '{"error":{"message":"","type":"api_error","code":"x"}}'
  stack.llm.answer(answerJson(JSON.parse(body), 429))
  expect(await stack.post('/both', chat('hi'))).toMatchObject({ status: 429, body })
  expect(stack.webhook.requests.map(({ url }) => url)).toEqual(['/request'])
})

test('what an error says and quotes is masked', async () => {
  const error = { message: 'Failed to call a function.', failed_generation: 'a secret' }
  stack.llm.answer(answerJson({ error }, 400))
  const answer = await stack.post('/both', chat('hi'))
  expect(answer.status).toBe(400)
  expect(answer.body).toBe(JSON.stringify({ error }).replace('secret', '****'))
  stack.llm.answer(answerJson(completion('a secret'), 500))
  const odd = await stack.post('/both', chat('hi'))
  expect(odd).toMatchObject({ status: 500, body: JSON.stringify(completion('a ****')) })
  stack.llm.answer(answerJson({ error: { ...error, failed_generation: 'block' } }, 400))
  expect((await stack.post('/both', chat('hi'))).status).toBe(403)
})

const askClaude = (path: string) =>
  send(stack.origin, `${path}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: chat('hi', { max_tokens: 9 }),
  })
/** An error in Anthropic's form. */
const UNREADABLE = { type: 'error', error: { type: 'api_error' } }

test.each([
  ['a part', 206, { 'content-type': 'application/json' }],
  ['a stream of lines', 200, { 'content-type': 'application/jsonl' }],
])(
  'a reply that is %s: 503 in the words of the API of the client, as it came when all guards fail open',
  async (_name, status, headers: Record<string, string>) => {
    const body = '{"content":[{"type":"text","text":"a secret"}]}\n'
    stack.llm.answer((_request, response) => void response.writeHead(status, headers).end(body))
    const closed = await askClaude('/both')
    expect(closed.status).toBe(503)
    expect(JSON.parse(closed.body)).toMatchObject(UNREADABLE)
    const warnings = () => stack.log().match(/reply passed unread/g)?.length ?? 0
    const before = warnings()
    const open = await askClaude('/open')
    expect(open).toMatchObject({ status, body, headers })
    await eventually(() => expect(warnings()).toBe(before + 1))
  },
)

test('a reply over the limit: 503 in the words of the API of the client, however webhooks fail', async () => {
  const large = JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(MAX_BODY) }] })
  const chunked = { 'transfer-encoding': 'chunked' }
  for (const headers of [{}, chunked] as Record<string, string>[]) {
    stack.llm.answer((_request, response) => void response.writeHead(200, headers).end(large))
    for (const path of ['/both', '/open']) {
      const answer = await askClaude(path)
      expect(answer.status).toBe(503)
      expect(JSON.parse(answer.body)).toMatchObject(UNREADABLE)
    }
  }
})

test.each([
  ['no JSON', { 'content-type': 'application/json' }, 'a secret'],
  ['another form', { 'content-type': 'application/json' }, '{"words":"a secret"}'],
  ['two forms at once', {}, '{"choices":[],"content":[{"type":"text","text":"a secret"}]}'],
  ['a damaged encoding', { 'content-encoding': 'gzip' }, 'a secret'],
])(
  'a reply that is %s: 503 when a guard fails closed, as it came when all fail open',
  async (_name, headers: Record<string, string>, body) => {
    stack.llm.answer((_request, response) => void response.writeHead(200, headers).end(body))
    const closed = await stack.post('/both', chat('hi'))
    expect(closed.status).toBe(503)
    expect(closed.body).not.toContain('secret')
    expect(JSON.parse(closed.body)).toMatchObject({ error: { code: 'guardrail_unreadable' } })
    const open = await stack.post('/open', chat('hi'))
    expect(open).toMatchObject({ status: 200, body })
    expect(open.headers).toMatchObject(headers)
    expect(stack.webhook.requests.map(({ url }) => url)).toEqual(['/request', '/request'])
    await eventually(() => expect(stack.log()).toContain('reply passed unread'))
    expect(stack.log()).not.toContain('a secret')
  },
)
