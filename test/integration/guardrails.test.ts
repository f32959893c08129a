// Guardrail webhooks through the whole product: the official client, an LLM, a webhook, and every way it can fail.

import { createServer as createTcpServer, type Server } from 'node:net'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { eventually } from '../support/eventually.js'
import { bearer, send, type Answer } from '../support/http.js'
import { freePort } from '../support/ports.js'
import {
  backendRef,
  CORS_FILTER,
  gateway,
  httpRoute,
  prefix,
  proxyBackend,
} from '../support/resources.js'
import { startStack, type Stack } from '../support/stack.js'
import { keySet, newKey, signToken, type SigningKey } from '../support/tokens.js'

let llm: Backend
let webhook: Backend
let second: Backend
let hanging: Server
let stack: Stack
let key: SigningKey

interface Wire {
  readonly messages?: readonly { role: string; content: string }[]
  readonly choices?: readonly { message: { role: string; content: string } }[]
}

const asked = (to: Backend = webhook): Wire[] =>
  to.requests.map(({ body }) => (JSON.parse(body) as { body: Wire }).body)

const answerJson =
  (value: unknown, status = 200) =>
  (_request: unknown, response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }

/** Masks "secret" and refuses "block", in both phases: a user's webhook in a few lines. */
const sample: Parameters<Backend['answer']>[0] = ({ body }, response) => {
  const { messages, choices } = (JSON.parse(body) as { body: Wire }).body
  const texts = messages ?? (choices ?? []).map(({ message }) => message)
  const mask = (text: string) => text.replaceAll('secret', '****')
  const masked = texts.map(({ role, content }) => ({ role, content: mask(content) }))
  const action = texts.some(({ content }) => content.includes('block'))
    ? { body: 'request blocked', status_code: 403, reason: 'a word' }
    : texts.every(({ content }) => !content.includes('secret'))
      ? { reason: 'passed' }
      : {
          body: messages
            ? { messages: masked }
            : { choices: masked.map((message) => ({ message })) },
        }
  answerJson({ action })(undefined, response)
}

const completion = (content: string | null, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, ...more },
      finish_reason: 'stop',
      logprobs: null,
    },
  ],
})

const policy = (name: string, guards: object) => ({
  apiVersion: 'policy.gatehouse.dev/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
    backend: { ai: { promptGuard: guards } },
  },
})

const llmRoute = (name: string, hook: (backend: string, more?: object) => object, path: string) => [
  httpRoute(name, {
    rules: [
      {
        matches: [prefix(path)],
        filters: [
          CORS_FILTER,
          {
            type: 'URLRewrite',
            urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } },
          },
        ],
        backendRefs: [backendRef('llm')],
      },
    ],
  }),
  policy(name, hook('guard')),
]

const hook = (name: string, more: object = {}) => ({
  webhook: { backendRef: { kind: 'Service', name, port: 80 }, ...more },
})
/** A Service with one endpoint: requestTimeout can target it. */
const service = (name: string, port: number, requestTimeout?: string) => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { ports: [{ port: 80, targetPort: port }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ port }],
    endpoints: [{ addresses: ['127.0.0.1'] }],
  },
  ...(requestTimeout === undefined
    ? []
    : [
        {
          apiVersion: 'policy.gatehouse.dev/v1alpha1',
          kind: 'ProxyPolicy',
          metadata: { name: `${name}-timeout` },
          spec: {
            targetRefs: [{ group: '', kind: 'Service', name }],
            backend: { http: { requestTimeout } },
          },
        },
      ]),
]

const ISSUER = 'https://idp.example/'
const MAX_BODY = 256 * 1024

beforeAll(async () => {
  key = await newKey('k1')
  llm = await startBackend('llm')
  webhook = await startBackend('webhook')
  second = await startBackend('second')
  hanging = createTcpServer().listen(0, '127.0.0.1')
  await once(hanging, 'listening')
  const { port: hangingPort } = hanging.address() as { port: number }
  const nobody = await freePort()
  const headers = {
    'x-model': 'llmRequest.model',
    'x-client': 'request.headers["x-client"]',
    'x-nobody': 'jwt.sub',
    ':path': 'request.method == "POST" ? "/v2/check?a=b" : ""',
  }
  stack = await startStack({
    flags: ['--max-body-bytes', String(MAX_BODY)],
    resources: (port) => [
      gateway([port]),
      proxyBackend('llm', llm),
      ...service('guard', webhook.port),
      ...service('second', second.port),
      ...service('hanging', hangingPort, '200ms'),
      ...service('nobody', nobody),
      ...llmRoute('llm', (guard) => ({ request: [hook(guard)], response: [hook(guard)] }), '/both'),
      ...llmRoute(
        'open',
        (guard) => ({
          request: [hook(guard, { failureMode: 'FailOpen' })],
          response: [hook(guard, { failureMode: 'FailOpen' })],
        }),
        '/open',
      ),
      ...llmRoute('two', (guard) => ({ request: [hook(guard), hook('second')] }), '/two'),
      ...llmRoute('slow', () => ({ request: [hook('hanging')] }), '/slow'),
      ...llmRoute('slow-reply', () => ({ response: [hook('hanging')] }), '/late'),
      ...llmRoute('away', () => ({ request: [hook('nobody')] }), '/away'),
      ...llmRoute('head', (guard) => ({ request: [hook(guard, { headers })] }), '/head'),
      ...llmRoute(
        'claims',
        (guard) => {
          const guards = [hook(guard, { headers: { 'x-user': 'jwt.sub' } })]
          return { request: guards, response: guards }
        },
        '/claims',
      ),
      {
        apiVersion: 'policy.gatehouse.dev/v1alpha1',
        kind: 'ProxyPolicy',
        metadata: { name: 'claims-tokens' },
        spec: {
          targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'claims' }],
          traffic: {
            jwtAuthentication: {
              providers: [{ issuer: ISSUER, jwks: { inline: JSON.stringify(keySet(key)) } }],
            },
          },
        },
      },
      ...llmRoute(
        'tools',
        (guard) => ({ response: [hook(guard, { inspectToolCalls: true })] }),
        '/tools',
      ),
    ],
  })
})
afterAll(async () => {
  await stack.close()
  hanging.close()
  await Promise.all([llm.close(), webhook.close(), second.close()])
})
beforeEach(() => {
  for (const party of [llm, webhook, second]) party.requests.length = 0
  webhook.answer(sample)
  second.answer(sample)
  llm.answer(answerJson(completion('hello')))
})

const client = (path: string) =>
  new OpenAI({ baseURL: `${stack.origin}${path}/v1`, apiKey: 'k', maxRetries: 0 })
const ask = (path: string, content: string) =>
  client(path).chat.completions.create({ model: 'm', messages: [{ role: 'user', content }] })
const post = (path: string, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  send(stack.origin, `${path}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })
const chat = (content: string, more: object = {}) =>
  JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...more })

describe('verdicts', () => {
  test('allow: the prompt and the reply go on byte for byte, the webhook has seen both', async () => {
    const prompt =
      '{ "model":"m", "messages" : [{"content":"h\\u0069 \\ud800","role":"user"}],"n":1.0 }'
    const reply = JSON.stringify(completion('fine'), null, 1)
    llm.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(reply)
    })
    const answer = await post('/both', prompt)
    expect(answer).toMatchObject({ status: 200, body: reply })
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(reply)))
    expect(llm.requests[0]?.body).toBe(prompt)
    expect(llm.requests[0]?.headers['content-length']).toBe(String(prompt.length))
    expect(webhook.requests.map(({ url }) => url)).toEqual(['/request', '/response'])
    expect(asked()).toEqual([
      { messages: [{ role: 'user', content: 'hi \ud800' }] },
      { choices: [{ message: { role: 'assistant', content: 'fine' } }] },
    ])
  })

  test('modify: the LLM gets the masked prompt, the client the masked reply', async () => {
    llm.answer(answerJson(completion('the secret is out')))
    const answer = await ask('/both', 'my secret')
    expect(answer.choices[0]?.message.content).toBe('the **** is out')
    expect(llm.requests[0]?.body).toBe(chat('my ****'))
  })

  test('reject of a prompt: its status and text, with CORS; the LLM is never asked', async () => {
    const answer = await post('/both', chat('block me'), { origin: 'https://app.example' })
    expect(answer).toMatchObject({ status: 403, body: 'request blocked' })
    expect(answer.headers['content-type']).toContain('text/plain')
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example')
    expect(llm.requests).toEqual([])
    await expect(ask('/both', 'block me')).rejects.toMatchObject({ status: 403 })
  })

  test('reject of a reply: its status and text, with CORS, and nothing of the LLM', async () => {
    llm.answer((_request, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'x-llm': 'block' })
        .end(JSON.stringify(completion('I block')))
    })
    const answer = await post('/both', chat('hi'), { origin: 'https://app.example' })
    expect(answer).toMatchObject({ status: 403, body: 'request blocked' })
    expect(answer.headers).toMatchObject({
      'content-length': '15',
      'content-type': 'text/plain; charset=utf-8',
      'access-control-allow-origin': 'https://app.example',
    })
    expect(answer.headers['x-llm']).toBeUndefined()
  })

  test('several webhooks: each sees the change of the one before, the first reject ends it', async () => {
    llm.answer(answerJson(completion('ok')))
    await ask('/two', 'my secret')
    expect(asked(second)).toEqual([{ messages: [{ role: 'user', content: 'my ****' }] }])
    await expect(ask('/two', 'block')).rejects.toMatchObject({ status: 403 })
    expect(second.requests).toHaveLength(1)
  })

  test('a mask leaves tool calls, images, ids and unknown members as they were', async () => {
    const body = chat('', {
      messages: [
        { role: 'system', content: 'a secret', x_cache: { a: [1.0, 'secret'] } },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'secret' },
            { type: 'image_url', image_url: { url: 'data:secret' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 't', type: 'function', function: { name: 'f', arguments: '{"a":"secret"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 't', content: 'found a secret' },
      ],
    })
    await post('/both', body)
    const expected = body
      .replace('a secret', 'a ****')
      .replace('"text":"secret"', '"text":"****"')
      .replace('found a secret', 'found a ****')
    expect(llm.requests[0]?.body).toBe(expected)
    expect(asked()[0]?.messages?.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
    ])
  })

  test('what a model says beside content is seen too, and log probabilities go with a mask', async () => {
    const { choices, ...rest } = completion('fine', {
      reasoning_content: 'a secret',
      extra: [{ text: 'secret' }],
    })
    const logprobs = { content: [{ token: 'secret', logprob: 0 }] }
    llm.answer(answerJson({ ...rest, choices: [{ ...choices[0], logprobs }] }))
    const { body } = await post('/both', chat('hi'))
    expect(body).not.toContain('secret')
    expect(
      asked()
        .at(-1)
        ?.choices?.map(({ message }) => message.content),
    ).toEqual(['fine', 'a secret', 'secret'])
  })

  test('inspectToolCalls shows the arguments; a change that is not JSON is no verdict', async () => {
    const call = (text: string) => ({
      tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: text } }],
    })
    llm.answer(answerJson(completion(null, call('{"a":"secret"}'))))
    const masked = await post('/tools', chat('hi'))
    expect(masked.body).toContain('{\\"a\\":\\"****\\"}')
    expect(asked()[0]?.choices?.[1]?.message).toEqual({
      role: 'tool_call',
      content: '{"a":"secret"}',
    })
    llm.answer(answerJson(completion(null, call('secret'))))
    expect((await post('/tools', chat('hi'))).status).toBe(503)
  })
})

describe('headers of the webhook', () => {
  test('come from the client request; what cannot be evaluated is left out', async () => {
    await post('/head', chat('hi'), { 'x-client': 'c1', authorization: 'Bearer t' })
    const [request] = webhook.requests
    expect(request?.url).toBe('/v2/check?a=b')
    expect(request?.headers).toMatchObject({ 'x-model': 'm', 'x-client': 'c1' })
    expect(request?.headers).not.toHaveProperty('x-nobody')
    expect(request?.headers).not.toHaveProperty('authorization')
  })
})

test('claims of a verified token reach the headers in both phases; without a token nobody is asked', async () => {
  const token = await signToken({ key, claims: { iss: ISSUER, sub: 'alice' } })
  expect((await post('/claims', chat('hi'))).status).toBe(401)
  expect(webhook.requests).toEqual([])
  expect((await post('/claims', chat('hi'), bearer(token))).status).toBe(200)
  expect(webhook.requests.map(({ url, headers }) => [url, headers['x-user']])).toEqual([
    ['/request', 'alice'],
    ['/response', 'alice'],
  ])
})

describe('a webhook that is no help', () => {
  const MODIFY = { body: { messages: [{ role: 'user', content: 'x' }] } }
  const broken: Record<string, Parameters<Backend['answer']>[0]> = {
    'answers 500 with an allow': answerJson({ action: {} }, 500),
    redirects: (_request, response) => void response.writeHead(302, { location: '/request' }).end(),
    'is not JSON': (_request, response) => void response.end('<html>'),
    'has no action': answerJson({}),
    'has a null action': answerJson({ action: null }),
    'rejects without a status': answerJson({ action: { body: 'no' } }),
    'rejects with a status in quotes': answerJson({ action: { body: 'no', status_code: '403' } }),
    'rejects with status 99': answerJson({ action: { body: 'no', status_code: 99 } }),
    'gives a status alone': answerJson({ action: { status_code: 403 } }),
    'has an empty body': answerJson({ action: { body: {} } }),
    'modifies the other kind': answerJson({
      action: { body: { choices: [{ message: { role: 'user', content: 'x' } }] } },
    }),
    'modifies another count': answerJson({ action: { body: { messages: [] } } }),
    'modifies the role': answerJson({
      action: { body: { messages: [{ role: 'system', content: 'x' }] } },
    }),
    'modifies to null': answerJson({
      action: { body: { messages: [{ role: 'user', content: null }] } },
    }),
    'answers more than it may': answerJson({
      action: { ...MODIFY, reason: 'x'.repeat(2 * MAX_BODY) },
    }),
    'breaks the connection': (_request, response) => void response.socket?.destroy(),
  }

  test.each(Object.keys(broken))(
    '%s: 503 when it fails closed, on when it fails open',
    async (name) => {
      webhook.answer(broken[name] ?? sample)
      const closed = await post('/both', chat('a secret'), { origin: 'https://app.example' })
      expect(closed.status).toBe(503)
      expect(JSON.parse(closed.body)).toMatchObject({ error: { code: 'guardrail_unavailable' } })
      expect(closed.headers['access-control-allow-origin']).toBe('https://app.example')
      expect(llm.requests).toEqual([])
      const open = await post('/open', chat('a secret'))
      expect(open.status).toBe(200)
      expect(llm.requests[0]?.body).toBe(chat('a secret'))
      webhook.answer(sample)
      expect((await post('/both', chat('hi'))).status).toBe(200)
    },
  )

  test('is away, or hangs beyond its deadline: 503, and soon', async () => {
    expect((await post('/away', chat('hi'))).status).toBe(503)
    const start = performance.now()
    expect((await post('/slow', chat('hi'))).status).toBe(503)
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(llm.requests).toEqual([])
    const late = await post('/late', chat('hi'))
    expect(late.status).toBe(503)
    expect(late.body).not.toContain('hello')
  })

  test('fails in the response phase: 503 in place of the reply', async () => {
    webhook.answer((request, response) =>
      request.url === '/response' ? void response.writeHead(500).end() : sample(request, response),
    )
    const answer = await post('/both', chat('hi'))
    expect(answer.status).toBe(503)
    expect(answer.body).not.toContain('hello')
  })
})

describe('bodies', () => {
  test.each([
    ['not JSON', '{"messages":'],
    ['a member twice', '{"messages":[],"messages":[{"role":"user","content":"x"}]}'],
    ['a member in another case', '{"messages":[],"Messages":[{"role":"user","content":"x"}]}'],
    ['an unknown form', '{"prompt":"x"}'],
    ['two forms at once', '{"messages":[],"input":"x"}'],
    [
      'an unknown part',
      '{"messages":[{"role":"user","content":[{"type":"document","text":"x"}]}]}',
    ],
    ['too deep', `{"messages":[],"x":${'['.repeat(200)}${']'.repeat(200)}}`],
    ['an event stream, which is not guarded yet', chat('x', { stream: true })],
  ])('%s: 400, and the LLM is not asked, also when webhooks fail open', async (_name, body) => {
    for (const path of ['/both', '/open']) expect((await post(path, body)).status).toBe(400)
    expect(llm.requests).toEqual([])
    expect(webhook.requests).toEqual([])
  })

  test('a content type that lies, and a compressed request: 400', async () => {
    expect((await post('/both', chat('x'), { 'content-type': 'text/plain' })).status).toBe(400)
    expect((await post('/both', chat('x'), { 'content-encoding': 'gzip' })).status).toBe(400)
  })

  test('beyond --max-body-bytes: 413, with and without Content-Length', async () => {
    const large = chat('x'.repeat(MAX_BODY))
    expect((await post('/both', large)).status).toBe(413)
    expect((await post('/both', large, { 'transfer-encoding': 'chunked' })).status).toBe(413)
    const most = chat('x'.repeat(MAX_BODY - 100))
    expect((await post('/both', most, { 'transfer-encoding': 'chunked' })).status).toBe(200)
    expect(llm.requests.map(({ body }) => body)).toEqual([most])
  })

  test('a GET is untouched, and its reply too when no model speaks in it', async () => {
    const models = JSON.stringify({ object: 'list', data: [{ id: 'm', object: 'model' }] })
    llm.answer((_request, response) => void response.end(models))
    expect((await send(stack.origin, '/both/v1/models')).body).toBe(models)
    expect((await send(stack.origin, '/both/v1/models', { method: 'HEAD' })).status).toBe(200)
    expect(webhook.requests).toEqual([])
    llm.answer(answerJson(completion('a secret')))
    const stored = await send(stack.origin, '/both/v1/chat/completions/c1')
    expect(stored.body).toContain('a ****')
    llm.answer(answerJson({ data: [completion('a secret')] }))
    expect((await send(stack.origin, '/both/v1/chat/completions')).status).toBe(503)
  })

  test('an error of the LLM reaches the client as it is', async () => {
    llm.answer(answerJson({ error: { message: 'a secret' } }, 429))
    const answer = await post('/both', chat('hi'))
    expect(answer).toMatchObject({ status: 429, body: '{"error":{"message":"a secret"}}' })
    expect(webhook.requests.map(({ url }) => url)).toEqual(['/request'])
  })

  test.each([
    ['an event stream', { 'content-type': 'text/event-stream' }, 'data: {"choices":[]}\n\n'],
    ['no JSON', { 'content-type': 'application/json' }, 'a secret'],
    [
      'another form',
      { 'content-type': 'application/json' },
      '{"content":[{"type":"text","text":"a secret"}]}',
    ],
    ['a damaged encoding', { 'content-encoding': 'gzip' }, 'a secret'],
  ])(
    'a reply that is %s: 503, nothing of it passes, however webhooks fail',
    async (_name, headers, body) => {
      llm.answer((_request, response) => void response.writeHead(200, headers).end(body))
      for (const path of ['/both', '/open']) {
        const answer = await post(path, chat('hi'))
        expect(answer.status).toBe(503)
        expect(answer.body).not.toContain('secret')
        expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'guardrail_unreadable' } })
      }
    },
  )

  test('a gzip reply is read; a bomb is refused', async () => {
    const compressed = (text: string) => (_request: unknown, response: ServerResponse) =>
      void response.writeHead(200, { 'content-encoding': 'gzip', etag: '"1"' }).end(gzipSync(text))
    llm.answer(compressed(JSON.stringify(completion('a secret'))))
    const masked = await post('/both', chat('hi'))
    expect(masked.headers).not.toHaveProperty('content-encoding')
    expect(masked.headers).not.toHaveProperty('etag')
    expect(JSON.parse(masked.body)).toEqual(completion('a ****'))
    expect(llm.requests[0]?.headers['accept-encoding']).toBe('identity')
    llm.answer(compressed(JSON.stringify(completion('x'.repeat(20 * MAX_BODY)))))
    expect((await post('/both', chat('hi'))).status).toBe(503)
  })
})

test('verdicts are counted and logged, without any text', async () => {
  await ask('/both', 'a very secret word')
  const metrics = await stack.metrics()
  expect(metrics).toMatch(
    /gatehouse_guardrail_verdicts_total\{webhook="service\/default\/guard\/80",phase="request",outcome="modify"\} \d/,
  )
  for (const outcome of ['allow', 'reject', 'fail-open', 'fail-closed'])
    expect(metrics).toContain(`outcome="${outcome}"`)
  expect(metrics).toMatch(
    /gatehouse_guardrail_webhook_duration_seconds_count\{.*phase="response"\}/,
  )
  await eventually(() => expect(stack.log()).toContain('"outcome":"modify"'))
  expect(stack.log()).not.toContain('very secret')
})
