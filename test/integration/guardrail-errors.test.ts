// Errors of a guarded LLM, as whole replies and in streams: their words are texts, and clients still raise them.

import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { askLlm, type Heard, type LlmApi } from '../support/clients/llm-clients.js'
import {
  asked,
  both,
  chat,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { type Answer, send } from '../support/http.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack(
    guardedRoute('/open', both(hook('guard', { failureMode: 'FailOpen' }))),
  )
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

type Headers = Readonly<Record<string, string>>

const failWith = (status: number, headers: Headers, body: string | Uint8Array): void =>
  stack.llm.answer((_request: unknown, response: ServerResponse) => {
    response.writeHead(status, headers).end(body)
  })
const ask = (path = '/both'): Promise<Answer> => stack.post(path, chat('hi'))
/** The texts of replies that the webhook was asked about. */
const shown = (): readonly string[] =>
  asked(stack.webhook).flatMap(({ choices = [] }) => choices.map(({ message }) => message.content))
const masked = (body: string): string => body.replaceAll('secret', '****')

const JSON_TYPE = { 'content-type': 'application/json' }
const TEXT = { 'content-type': 'text/plain' }
const EVENTS = { 'content-type': 'text/event-stream' }

/** Errors as the servers of each API write them. */
const ERRORS: Readonly<Record<string, object>> = {
  OpenAI: {
    error: { message: 'No secret.', type: 'invalid_request_error', param: 'input[0]', code: 'x_1' },
  },
  Anthropic: {
    type: 'error',
    request_id: 'req_1',
    error: { type: 'overloaded_error', message: 'A secret' },
  },
  Gemini: {
    error: {
      code: 400,
      message: 'A secret',
      status: 'INVALID_ARGUMENT',
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'X', domain: 'a.example' },
        { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'a' }] },
      ],
    },
  },
  'a list of Gemini': [{ error: { code: 429, message: 'A secret', status: 'UNAVAILABLE' } }],
  Bedrock: { message: 'The secret does not fit.' },
  Cohere: { id: 'c-1', message: 'too many secrets' },
  FastAPI: { detail: [{ type: 'missing', loc: ['body', 0], msg: 'A secret', input: null }] },
  'a word': { error: 'secret' },
}

describe('a JSON error', () => {
  test.each(Object.entries(ERRORS))('of %s is masked in place', async (_name, error) => {
    const body = JSON.stringify(error, null, 1)
    failWith(429, { ...JSON_TYPE, 'retry-after': '7', 'x-llm': 'yes' }, body)
    const answer = await ask()
    expect(answer).toMatchObject({
      status: 429,
      body: masked(body),
      headers: { 'retry-after': '7', 'x-llm': 'yes' },
    })
    expect(shown()).toHaveLength(1)
    expect(shown()[0]).toContain('secret')
  })

  test.each<[string, Headers, (body: string) => Uint8Array]>([
    ['compressed', { ...JSON_TYPE, 'content-encoding': 'gzip' }, (body) => gzipSync(body)],
    ['in chunks', { 'transfer-encoding': 'chunked' }, (body) => Buffer.from(body)],
    ['without a type', {}, (body) => Buffer.from(body)],
  ])('%s is masked, whatever its request', async (_name, headers, encode) => {
    const body = JSON.stringify(ERRORS.OpenAI)
    failWith(400, headers, encode(body))
    for (const answer of [await ask(), await send(stack.origin, '/both/v1/models')]) {
      expect(answer).toMatchObject({ status: 400, body: masked(body) })
      expect(answer.headers).not.toHaveProperty('content-encoding')
    }
  })

  test('is rejected, or ends with 503 without a verdict, as every reply', async () => {
    failWith(500, JSON_TYPE, JSON.stringify({ error: { message: 'block' } }))
    expect(await ask()).toMatchObject({ status: 403, body: 'request blocked' })
    stack.webhook.answer(({ url }, response) => {
      response.writeHead(url === '/request' ? 200 : 500).end('{"action":{}}')
    })
    expect((await ask()).status).toBe(503)
    expect((await ask('/open')).status).toBe(500)
  })
})

describe('an error in words', () => {
  test.each<[number, Headers, string]>([
    [400, TEXT, 'a secret'],
    [404, { 'content-type': 'text/html', 'x-llm': 'yes' }, '<p>a "secret"</p>\n'],
    [500, {}, 'a secret\\n'],
    [503, EVENTS, '"a secret"'],
    [302, { ...TEXT, location: 'https://a.example/' }, 'see the secret'],
  ])('with %i %j is one text', async (status, headers, body) => {
    failWith(status, headers, body)
    expect(await ask()).toMatchObject({ status, headers, body: masked(body) })
    expect(shown()).toEqual([status === 503 ? 'a secret' : body])
    const got = await send(stack.origin, '/both/v1/models')
    expect(got).toMatchObject({ status, headers, body: masked(body) })
  })

  test('is rejected', async () => {
    failWith(502, TEXT, 'you may block this')
    expect(await ask()).toMatchObject({ status: 403, body: 'request blocked' })
  })

  test('passes as it is when nothing changes, or when it says nothing', async () => {
    failWith(502, TEXT, 'upstream connect error')
    expect(await ask()).toMatchObject({
      status: 502,
      headers: TEXT,
      body: 'upstream connect error',
    })
    stack.webhook.requests.length = 0
    for (const body of ['', ' \n']) {
      failWith(503, { 'retry-after': '7' }, body)
      expect(await ask()).toMatchObject({ status: 503, headers: { 'retry-after': '7' }, body })
    }
    failWith(304, { etag: '"1"' }, '')
    expect(await ask()).toMatchObject({ status: 304, headers: { etag: '"1"' }, body: '' })
    failWith(404, TEXT, 'a secret')
    const head = await send(stack.origin, '/both/v1/models', { method: 'HEAD' })
    expect(head).toMatchObject({ status: 404, headers: TEXT, body: '' })
    expect(shown()).toEqual([])
  })

  test.each<[string, Headers, Uint8Array]>([
    ['not UTF-8', TEXT, Buffer.from('a secret \xff', 'latin1')],
    ['not what it is encoded in', { 'content-encoding': 'gzip' }, Buffer.from('a secret')],
  ])('%s: 503, or as it came when all webhooks fail open', async (_name, headers, body) => {
    failWith(500, headers, body)
    const closed = await ask()
    expect(closed.status).toBe(503)
    expect(JSON.parse(closed.body)).toMatchObject({ error: { code: 'guardrail_unreadable' } })
    expect(await ask('/open')).toMatchObject({ status: 500, headers })
    expect(shown()).toEqual([])
  })
})

test("Gatehouse's own answers are shown to no webhook", async () => {
  expect((await stack.post('/both', chat('block'))).status).toBe(403)
  expect((await stack.post('/both', 'not JSON')).status).toBe(400)
  expect(shown()).toEqual([])
})

const event = (data: object, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

const apis: readonly LlmApi[] = ['chat', 'responses', 'messages', 'gemini']
const KIND = { chat: 'OpenAI', responses: 'OpenAI', messages: 'Anthropic', gemini: 'Gemini' }

describe.each(apis)('the client of %s raises', (api) => {
  const error = ERRORS[KIND[api as keyof typeof KIND]] ?? {}
  const heard = (stream: boolean): Promise<Heard> =>
    askLlm(api, { url: `${stack.origin}/both`, prompt: 'hi', stream })

  test.each([false, true])(
    'an error reply with its status and message, streamed: %s',
    async (stream) => {
      failWith(429, JSON_TYPE, JSON.stringify(error))
      const raised = (await heard(stream)).error
      expect(raised?.status).toBe(429)
      expect(raised?.message).toMatch(/\*\*\*\*/)
      expect(raised?.message).not.toContain('secret')
    },
  )

  test('an error event with its message', async () => {
    const isNamed = api === 'messages' || api === 'responses'
    failWith(200, EVENTS, event(error, isNamed ? 'error' : undefined))
    const raised = (await heard(true)).error
    expect(raised?.message).toMatch(/\*\*\*\*/)
    expect(raised?.message).not.toContain('secret')
  })
})

describe('an event stream with the status of an error', () => {
  const said = { choices: [{ index: 0, delta: { content: 'so the sec' } }] }
  const rest = { choices: [{ index: 0, delta: { content: 'ret is out' } }] }
  test.each<[string, Headers, (body: string) => string | Uint8Array]>([
    ['as it is', {}, (body) => body],
    ['compressed', { 'content-encoding': 'gzip' }, (body) => gzipSync(body)],
    ['behind a byte order mark', {}, (body) => `\ufeff${body}`],
    ['behind an empty line', {}, (body) => `\n${body}`],
  ])('is checked like any other: %s', async (_name, headers, encode) => {
    const body = event(said) + event(rest) + event(ERRORS.OpenAI ?? {}) + 'data: [DONE]\n\n'
    failWith(500, { ...EVENTS, ...headers, 'retry-after': '7' }, encode(body))
    const answer = await ask()
    expect(answer).toMatchObject({ status: 500, headers: { ...EVENTS, 'retry-after': '7' } })
    expect(answer.body).not.toMatch(/secret|sec"|"ret/)
    expect(answer.body).toContain('No ****.')
    expect(shown()).toEqual(['so the secret is out', 'No secret.'])
  })

  test('ends with an error where a webhook rejects it, or where it cannot be read', async () => {
    failWith(500, EVENTS, event({ error: { message: 'block' } }))
    const rejected = await ask()
    expect(rejected.status).toBe(500)
    expect(rejected.body).toContain('request blocked')
    expect(rejected.body).not.toContain('"block"')
    for (const body of ['a secret', '[a] secret\ndata: {"error":"s\\u0065cret"}\n\n']) {
      failWith(500, EVENTS, body)
      const unread = await ask()
      expect(unread.body).toContain('guardrail_unreadable')
      expect(unread.body).not.toContain('secret')
      expect(unread.body).not.toContain('u0065')
    }
  })
})
