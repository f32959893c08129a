// Every LLM API on guarded routes, with its own client: what reaches the model and the client, and the form of
// Gatehouse's errors.

import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '../../testing/ports.js'
import {
  answerJson,
  asked,
  both,
  guardedRoute,
  type GuardedStack,
  hook,
  service,
  startGuardedStack,
} from '../support/guardrails.js'
import { send } from '../support/http.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack([
    ...guardedRoute('/tools', both(hook('guard', { inspectToolCalls: true }))),
    ...service('away', await freePort()),
    ...guardedRoute('/away', both(hook('away'))),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const openai = (path = '/both') =>
  new OpenAI({ baseURL: `${stack.origin}${path}/v1`, apiKey: 'k', maxRetries: 0 })
const anthropic = (path = '/both') =>
  new Anthropic({ baseURL: `${stack.origin}${path}`, apiKey: 'k', maxRetries: 0 })
const post = (path: string, body: string) =>
  send(stack.origin, path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
const gemini = (body: unknown, path = '/both') =>
  post(
    `${path}/v1beta/models/m:generateContent`,
    typeof body === 'string' ? body : JSON.stringify(body),
  )

/** The request that reached the model. */
const received = (): unknown => JSON.parse(stack.llm.requests.at(-1)?.body ?? '')

describe('OpenAI completions', () => {
  const say = (text: string) =>
    stack.llm.answer(answerJson({ object: 'text_completion', choices: [{ index: 0, text }] }))

  test('are masked both ways', async () => {
    say('a secret')
    const answer = await openai().completions.create({ model: 'm', prompt: ['my secret', 'x'] })
    expect(answer.choices[0]?.text).toBe('a ****')
    expect(received()).toEqual({ model: 'm', prompt: ['my ****', 'x'] })
  })

  test('are rejected both ways; tokens are refused', async () => {
    const ask = (prompt: string | number[]) => openai().completions.create({ model: 'm', prompt })
    await expect(ask('block')).rejects.toThrow(OpenAI.PermissionDeniedError)
    await expect(ask([1, 2])).rejects.toThrow(OpenAI.BadRequestError)
    expect(stack.llm.requests).toEqual([])
    say('block')
    await expect(ask('x')).rejects.toThrow(OpenAI.PermissionDeniedError)
  })
})

describe('OpenAI responses', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":"secret"}' }
  const output = (...items: object[]) => ({ id: 'r', object: 'response', output: items })
  const message = (text: string) => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  })
  const body = (input: OpenAI.Responses.ResponseInput) => ({ model: 'm', input })

  test('are masked both ways, tool calls and ids as they were', async () => {
    stack.llm.answer(answerJson(output(message('the secret'), call)))
    const answer = await openai().responses.create({
      ...body([
        { role: 'user', content: [{ type: 'input_text', text: 'my secret' }] },
        { type: 'function_call', call_id: 'secret', name: 'f', arguments: '{"a":"secret"}' },
        { type: 'function_call_output', call_id: 'secret', output: 'found a secret' },
      ]),
      instructions: 'a secret',
    })
    expect(answer.output_text).toBe('the ****')
    expect(answer.output[1]).toEqual(call)
    expect(received()).toEqual({
      model: 'm',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'my ****' }] },
        { type: 'function_call', call_id: 'secret', name: 'f', arguments: '{"a":"secret"}' },
        { type: 'function_call_output', call_id: 'secret', output: 'found a ****' },
      ],
      instructions: 'a ****',
    })
    expect(asked(stack.webhook)[0]?.messages?.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'tool',
    ])
  })

  test('are rejected both ways', async () => {
    const ask = (input: string) => openai().responses.create({ model: 'm', input })
    await expect(ask('block')).rejects.toThrow(OpenAI.PermissionDeniedError)
    stack.llm.answer(answerJson(output(message('block'))))
    await expect(ask('x')).rejects.toThrow(OpenAI.PermissionDeniedError)
  })
})

test('OpenAI embeddings: the input is masked, and the vectors pass without a webhook', async () => {
  const data = [{ object: 'embedding', index: 0, embedding: [0.5, 1] }]
  stack.llm.answer(answerJson({ object: 'list', model: 'm', data }))
  const answer = await openai().embeddings.create({
    model: 'm',
    input: ['my secret'],
    encoding_format: 'float',
  })
  expect(answer.data).toEqual(data)
  expect(received()).toMatchObject({ input: ['my ****'] })
  expect(stack.webhook.requests.map(({ url }) => url)).toEqual(['/request'])
  await expect(openai().embeddings.create({ model: 'm', input: 'block' })).rejects.toThrow(
    OpenAI.PermissionDeniedError,
  )
})

describe('Anthropic messages', () => {
  const use = { type: 'tool_use', id: 't', name: 'f', input: { a: 'secret', n: 1.5 } }
  const reply = (...content: object[]) =>
    answerJson({ id: 'm', type: 'message', role: 'assistant', model: 'm', content })
  const create = (content: Anthropic.MessageParam['content'], path?: string) =>
    anthropic(path).messages.create({
      model: 'm',
      max_tokens: 9,
      messages: [{ role: 'user', content }],
    })

  test('are masked both ways, tool calls, images and ids as they were', async () => {
    stack.llm.answer(reply({ type: 'text', text: 'the secret' }, use))
    const image = { type: 'base64', media_type: 'image/png', data: 'secret' } as const
    const conversation = (word: string): Anthropic.MessageCreateParamsNonStreaming => ({
      model: 'm',
      max_tokens: 9,
      system: [{ type: 'text', text: `a ${word}` }],
      messages: [
        { role: 'user', content: `my ${word}` },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't', name: 'f', input: use.input }],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'secret', content: `found a ${word}` },
            { type: 'image', source: image },
          ],
        },
      ],
    })
    const answer = await anthropic().messages.create(conversation('secret'))
    expect(answer.content).toEqual([{ type: 'text', text: 'the ****' }, use])
    expect(received()).toEqual(conversation('****'))
  })

  test('show and change tool calls with inspectToolCalls', async () => {
    stack.llm.answer(reply(use))
    const { content } = await create('hi', '/tools')
    expect(content).toEqual([{ ...use, input: { a: '****', n: 1.5 } }])
    expect(asked(stack.webhook)[1]?.choices?.map((choice) => choice.message)).toEqual([
      { role: 'assistant', content: '' },
      { role: 'tool_call', content: '{"a":"secret","n":1.5}' },
    ])
  })

  test('blocks that no version of the API has are masked both ways', async () => {
    const block = (word: string) => [{ type: 'new', words: `a ${word}`, more: [{ id: 'a' }] }]
    stack.llm.answer(reply(...block('secret')))
    const { content } = await create(block('secret') as unknown as string)
    expect(content).toEqual(block('****'))
    expect(received()).toMatchObject({ messages: [{ content: block('****') }] })
  })

  test('are rejected both ways; what cannot be read or asked about is an error of the API', async () => {
    await expect(create('block')).rejects.toThrow(Anthropic.PermissionDeniedError)
    stack.llm.answer(reply({ type: 'text', text: 'block' }))
    await expect(create('x')).rejects.toThrow(Anthropic.PermissionDeniedError)
    stack.llm.answer(reply({ type: 'text', text: 'a secret', 'odd name': 1 }))
    const unread = await create('x').catch((error: unknown) => error)
    expect(unread).toBeInstanceOf(Anthropic.InternalServerError)
    expect(unread).toMatchObject({
      status: 503,
      error: { type: 'error', error: { type: 'api_error' } },
    })
    expect(String(unread)).not.toContain('secret')
    const odd = [{ type: 'text', text: 'x', 'odd name': 1 }] as unknown as string
    const refused = await create(odd).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Anthropic.BadRequestError)
    expect(refused).toMatchObject({ error: { error: { type: 'invalid_request_error' } } })
    const away = await create('x', '/away').catch((error: unknown) => error)
    expect(away).toMatchObject({ status: 503, error: { error: { type: 'api_error' } } })
  })
})

describe('Gemini', () => {
  const reply = (...parts: object[]) =>
    answerJson({ candidates: [{ content: { role: 'model', parts }, index: 0 }] })

  test('is masked both ways, byte for byte beside the texts', async () => {
    const call = { functionCall: { name: 'f', args: { a: 'secret' } } }
    stack.llm.answer(reply({ text: 'the secret' }, call))
    const body = `{ "system_instruction":{"parts":[{"text":"a secret"}]}, "contents":[
      {"role":"user","parts":[{"text":"my secret"},{"inlineData":{"mimeType":"image/png","data":"secret"}}]},
      {"role":"model","parts":[{"functionCall":{"name":"f","args":{"a": "secret", "n":1.0}},"thoughtSignature":"secret"}]},
      {"role":"user","parts":[{"functionResponse":{"name":"f","response":{"r":"secret"}}}]}],"x":1.0 }`
    const answer = await gemini(body)
    expect(JSON.parse(answer.body)).toEqual({
      candidates: [{ content: { role: 'model', parts: [{ text: 'the ****' }, call] }, index: 0 }],
    })
    expect(stack.llm.requests[0]?.body).toBe(
      body
        .replace('a secret', 'a ****')
        .replace('my secret', 'my ****')
        .replace('{"r":"secret"}', '{"r":"****"}'),
    )
  })

  test('is rejected both ways; what cannot be read or asked about is an error of the API', async () => {
    const ask = (text: string, path?: string) => gemini({ contents: [{ parts: [{ text }] }] }, path)
    expect(await ask('block')).toMatchObject({ status: 403, body: 'request blocked' })
    stack.llm.answer(reply({ text: 'block' }))
    expect((await ask('x')).status).toBe(403)
    stack.llm.answer(reply({ text: 'a secret', 'odd name': 1 }))
    const codeOf = ({ body }: { readonly body: string }): unknown => JSON.parse(body)
    expect(codeOf(await ask('x'))).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } })
    expect(
      codeOf(await gemini({ contents: [{ parts: [{ text: 'x', 'odd name': 1 }] }] })),
    ).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT' },
    })
    expect(codeOf(await ask('x', '/away'))).toMatchObject({ error: { status: 'UNAVAILABLE' } })
  })
})
