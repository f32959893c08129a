// Guardrail webhooks through the whole product: the effect of each verdict on a prompt and on a reply, from the
// official client's point of view.

import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Backend, startBackend } from '../support/backend.js'
import {
  answerJson,
  asked,
  both,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  sample,
  service,
  startGuardedStack,
} from '../support/guardrails.js'
import { bearer } from '../support/http.js'
import { proxyPolicy } from '../support/resources.js'
import { keySet, newKey, signText, signToken } from '../support/tokens.js'

const ISSUER = 'https://idp.example/'
const key = await newKey('k1')

let second: Backend
let stack: GuardedStack

beforeAll(async () => {
  second = await startBackend('second')
  const headers = {
    'x-model': 'llmRequest.model',
    'x-client': 'request.headers["x-client"]',
    'x-nobody': 'jwt.sub',
    ':path': 'request.method == "POST" ? "/v2/check?a=b" : ""',
  }
  stack = await startGuardedStack([
    ...service('second', second.port),
    ...guardedRoute('/two', { request: [hook('guard'), hook('second')] }),
    ...guardedRoute('/head', { request: [hook('guard', { headers })] }),
    ...guardedRoute('/tools', { response: [hook('guard', { inspectToolCalls: true })] }),
    ...guardedRoute(
      '/claims',
      both(hook('guard', { headers: { 'x-user': 'jwt.sub', 'x-account': 'jwt.account' } })),
    ),
    proxyPolicy('claims-tokens', 'claims', {
      jwtAuthentication: {
        providers: [{ issuer: ISSUER, jwks: { inline: JSON.stringify(keySet(key)) } }],
      },
    }),
  ])
})
afterAll(async () => {
  await stack.close()
  await second.close()
})
beforeEach(() => {
  stack.reset()
  second.requests.length = 0
  second.answer(sample)
})

const ask = (path: string, content: string) =>
  new OpenAI({
    baseURL: `${stack.origin}${path}/v1`,
    apiKey: 'k',
    maxRetries: 0,
  }).chat.completions.create({ model: 'm', messages: [{ role: 'user', content }] })

describe('verdicts', () => {
  test('allow: the prompt and the reply go on byte for byte, the webhook has seen both', async () => {
    const prompt =
      '{ "model":"m", "messages" : [{"content":"h\\u0069 \\u00e9","role":"user"}],"n":1.0 }'
    const reply = JSON.stringify(completion('fine'), null, 1)
    stack.llm.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(reply)
    })
    const answer = await stack.post('/both', prompt)
    expect(answer).toMatchObject({ status: 200, body: reply })
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(reply)))
    expect(stack.llm.requests[0]?.body).toBe(prompt)
    expect(stack.llm.requests[0]?.headers['content-length']).toBe(String(prompt.length))
    expect(stack.webhook.requests.map(({ url }) => url)).toEqual(['/request', '/response'])
    expect(asked(stack.webhook)).toEqual([
      { messages: [{ role: 'user', content: 'hi é' }] },
      { choices: [{ message: { role: 'assistant', content: 'fine' } }] },
    ])
  })

  test('modify: the LLM gets the masked prompt, the client the masked reply', async () => {
    stack.llm.answer(answerJson(completion('the secret is out')))
    const answer = await ask('/both', 'my secret')
    expect(answer.choices[0]?.message.content).toBe('the **** is out')
    expect(stack.llm.requests[0]?.body).toBe(chat('my ****'))
  })

  test('reject of a prompt: its status and text, with CORS; the LLM is never asked', async () => {
    const answer = await stack.post('/both', chat('block me'), { origin: 'https://app.example' })
    expect(answer).toMatchObject({ status: 403, body: 'request blocked' })
    expect(answer.headers['content-type']).toContain('text/plain')
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example')
    expect(stack.llm.requests).toEqual([])
    await expect(ask('/both', 'block me')).rejects.toMatchObject({ status: 403 })
  })

  test('reject of a reply: its status and text, with CORS, and nothing of the LLM', async () => {
    stack.llm.answer((_request, response) => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'x-llm': 'block' })
        .end(JSON.stringify(completion('I block')))
    })
    const answer = await stack.post('/both', chat('hi'), { origin: 'https://app.example' })
    expect(answer).toMatchObject({ status: 403, body: 'request blocked' })
    expect(answer.headers).toMatchObject({
      'content-length': '15',
      'content-type': 'text/plain; charset=utf-8',
      'access-control-allow-origin': 'https://app.example',
    })
    expect(answer.headers['x-llm']).toBeUndefined()
  })

  test('several webhooks: each sees the change of the one before, the first reject ends it', async () => {
    stack.llm.answer(answerJson(completion('ok')))
    await ask('/two', 'my secret')
    expect(asked(second)).toEqual([{ messages: [{ role: 'user', content: 'my ****' }] }])
    await expect(ask('/two', 'block')).rejects.toMatchObject({ status: 403 })
    expect(second.requests).toHaveLength(1)
  })

  test('a mask leaves tool calls, images and ids as they were, and reaches unknown members', async () => {
    const body = chat('', {
      messages: [
        { role: 'system', content: 'a secret', x_cache: { a: [1.0, 'secret'] } },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'secret' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,secret' } },
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
    await stack.post('/both', body)
    const expected = body
      .replace('a secret', 'a ****')
      .replace('[1,"secret"]', '[1,"****"]')
      .replace('"text":"secret"', '"text":"****"')
      .replace('found a secret', 'found a ****')
    expect(stack.llm.requests[0]?.body).toBe(expected)
    expect(asked(stack.webhook)[0]?.messages?.map(({ role }) => role)).toEqual([
      'system',
      // Of x_cache.
      'system',
      'user',
      'assistant',
      'tool',
    ])
  })

  test('texts of a model outside content are seen too, and log probabilities are removed with a mask', async () => {
    const { choices, ...rest } = completion('fine', {
      reasoning_content: 'a secret',
      extra: [{ text: 'secret' }],
    })
    const logprobs = { content: [{ token: 'secret', logprob: 0 }] }
    stack.llm.answer(answerJson({ ...rest, choices: [{ ...choices[0], logprobs }] }))
    const { body } = await stack.post('/both', chat('hi'))
    expect(body).not.toContain('secret')
    expect(
      asked(stack.webhook)
        .at(-1)
        ?.choices?.map(({ message }) => message.content),
    ).toEqual(['fine', 'a secret', 'secret'])
  })

  test('inspectToolCalls shows the arguments; a change that is not JSON is no verdict', async () => {
    const call = (text: string) => ({
      tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: text } }],
    })
    stack.llm.answer(answerJson(completion(null, call('{"a":"secret"}'))))
    const masked = await stack.post('/tools', chat('hi'))
    expect(masked.body).toContain('{\\"a\\":\\"****\\"}')
    expect(asked(stack.webhook)[0]?.choices?.[1]?.message).toEqual({
      role: 'tool_call',
      content: '{"a":"secret"}',
    })
    stack.llm.answer(answerJson(completion(null, call('secret'))))
    expect((await stack.post('/tools', chat('hi'))).status).toBe(503)
  })
})

describe('headers of the webhook', () => {
  test('come from the client request; what cannot be evaluated is left out', async () => {
    await stack.post('/head', chat('hi'), { 'x-client': 'c1', authorization: 'Bearer t' })
    const [request] = stack.webhook.requests
    expect(request?.url).toBe('/v2/check?a=b')
    expect(request?.headers).toMatchObject({ 'x-model': 'm', 'x-client': 'c1' })
    expect(request?.headers).not.toHaveProperty('x-nobody')
    expect(request?.headers).not.toHaveProperty('authorization')
  })
})

test('claims of a verified token reach the headers in both phases; without a token no webhook is asked', async () => {
  const token = await signToken({ key, claims: { iss: ISSUER, sub: 'alice' } })
  expect((await stack.post('/claims', chat('hi'))).status).toBe(401)
  expect(stack.webhook.requests).toEqual([])
  expect((await stack.post('/claims', chat('hi'), bearer(token))).status).toBe(200)
  expect(stack.webhook.requests.map(({ url, headers }) => [url, headers['x-user']])).toEqual([
    ['/request', 'alice'],
    ['/response', 'alice'],
  ])
})

test('numbers beyond 2^53 of a token reach the headers as they were sent', async () => {
  const exp = Math.floor(Date.now() / 1000) + 300
  const account = '9007199254740993'
  const payload = `{"iss":"${ISSUER}","sub":"alice","exp":${String(exp)},"account":${account}}`
  const token = await signText(key, payload)
  expect((await stack.post('/claims', chat('hi'), bearer(token))).status).toBe(200)
  expect(stack.webhook.requests.map(({ headers }) => headers['x-account'])).toEqual([
    account,
    account,
  ])
})
