// APIs besides those of OpenAI, Anthropic and Gemini on guarded routes: what reaches the model and the client, whole and
// streamed, and which requests are refused before the model is asked.

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { answerJson, asked, type GuardedStack, startGuardedStack } from '../support/guardrails.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack()
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const post = (path: string, body: object) => stack.post(`/both${path}`, JSON.stringify(body))
const masked = (value: object): string => JSON.stringify(value).replaceAll('secret', '****')

describe('whole', () => {
  test.each<readonly [string, string, object, object]>([
    [
      'Cohere',
      '/v2/chat',
      user('my secret'),
      { id: 'c', message: { role: 'assistant', content: [{ type: 'text', text: 'the secret' }] } },
    ],
    [
      'Ollama',
      '/api/chat',
      user('my secret'),
      { model: 'm', message: { role: 'assistant', content: 'the secret' }, done: true },
    ],
    [
      "Ollama's texts",
      '/api/generate',
      { system: 'a secret', prompt: 'my secret' },
      { model: 'm', response: 'the secret', done: true },
    ],
    [
      'Bedrock',
      '/model/m/converse',
      { ...user([{ text: 'my secret' }]), system: [{ text: 'a secret' }] },
      { output: { message: { role: 'assistant', content: [{ text: 'the secret' }] } } },
    ],
    [
      'Mistral',
      '/v1/conversations',
      { model: 'm', inputs: 'my secret' },
      { conversation_id: 'c', outputs: [{ type: 'message.output', content: 'the secret' }] },
    ],
    [
      "Gemini's interactions",
      '/v1beta/interactions',
      { model: 'm', input: 'my secret', system_instruction: 'a secret' },
      { id: 'v1', outputs: [{ type: 'text', text: 'the secret' }] },
    ],
    [
      'threads',
      '/v1/threads/t/messages',
      { role: 'user', content: 'my secret' },
      { object: 'thread.message', content: [{ type: 'text', text: { value: 'the secret' } }] },
    ],
    [
      'images',
      '/v1/images/generations',
      { model: 'm', prompt: 'my secret', size: '1024x1024' },
      { created: 1, data: [{ b64_json: 'iVBORw0KGgo=', revised_prompt: 'the secret' }] },
    ],
    [
      'moderations',
      '/v1/moderations',
      { input: ['my secret'] },
      { id: 'modr', results: [{ flagged: true, categories: { hate: true } }] },
    ],
  ])('%s', async (_name, path, request, reply) => {
    stack.llm.answer(answerJson(reply))
    const answer = await post(path, request)
    expect(answer.status).toBe(200)
    expect(stack.llm.requests[0]?.body).toBe(masked(request))
    expect(answer.body).toBe(masked(reply))
  })

  test('an image alone passes without a question', async () => {
    const reply = { created: 1, data: [{ b64_json: 'iVBORw0KGgo=' }], usage: { total_tokens: 3 } }
    stack.llm.answer(answerJson(reply))
    const answer = await post('/v1/images/generations', { model: 'm', prompt: 'a cat' })
    expect(answer).toMatchObject({ status: 200, body: JSON.stringify(reply) })
    expect(stack.webhook.requests.map(({ url }) => url)).toEqual(['/request'])
  })

  test('the context of a run of AG-UI is text', async () => {
    const run = { threadId: 't', runId: 'r', ...user('hi'), tools: [], state: {} }
    stack.llm.answer((_request, response) => void response.writeHead(204).end())
    await post('/agent', { ...run, context: [{ description: 'time', value: 'noon' }] })
    const [question] = asked(stack.webhook)
    expect(question?.messages?.map(({ content }) => content)).toEqual(['hi', 'time', 'noon'])
  })
})

/** An answer in events, or in lines. */
const streamed =
  (events: readonly object[], isLines: boolean) =>
  (_request: unknown, response: ServerResponse): void => {
    const type = isLines ? 'application/x-ndjson' : 'text/event-stream'
    response.writeHead(200, { 'content-type': type })
    for (const event of events)
      response.write(`${isLines ? '' : 'data: '}${JSON.stringify(event)}${isLines ? '\n' : '\n\n'}`)
    response.end()
  }

/** All strings of the events that hold parts of the text, joined. */
const joined = (body: string): string =>
  [...body.matchAll(/"(?:text|delta|content|value|response)":"([^"]*)"/g)]
    .map(([, text]) => text)
    .join('')

interface Api {
  readonly path: string
  readonly request: object
  readonly part: (text: string) => object
  readonly end: object
  readonly isLines?: boolean
}

const STREAMS: Readonly<Record<string, Api>> = {
  Cohere: {
    path: '/v2/chat',
    request: user('hi'),
    part: (text) => ({
      type: 'content-delta',
      index: 0,
      delta: { message: { content: { text } } },
    }),
    end: { type: 'message-end', delta: { finish_reason: 'COMPLETE' } },
  },
  Ollama: {
    path: '/api/chat',
    request: user('hi'),
    isLines: true,
    part: (content) => ({ model: 'm', message: { role: 'assistant', content }, done: false }),
    end: { model: 'm', message: { role: 'assistant', content: '' }, done: true },
  },
  "Ollama's texts": {
    path: '/api/generate',
    request: { prompt: 'hi' },
    isLines: true,
    part: (response) => ({ model: 'm', response, done: false }),
    end: { model: 'm', response: '', done: true },
  },
  'the AI SDK': {
    path: '/api/chat',
    request: { messages: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }] },
    part: (delta) => ({ type: 'text-delta', id: 't', delta }),
    end: { type: 'text-end', id: 't' },
  },
  'AG-UI': {
    path: '/agent',
    request: { threadId: 't', runId: 'r', ...user('hi') },
    part: (delta) => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta }),
    end: { type: 'TEXT_MESSAGE_END', messageId: 'm' },
  },
  Mistral: {
    path: '/v1/conversations',
    request: { model: 'm', inputs: 'hi' },
    part: (content) => ({ type: 'message.output.delta', output_index: 0, content }),
    end: { type: 'conversation.response.done', usage: {} },
  },
  "Gemini's interactions": {
    path: '/v1beta/interactions',
    request: { model: 'm', input: 'hi' },
    part: (text) => ({ event_type: 'step.delta', index: 0, delta: { type: 'text', text } }),
    end: { event_type: 'step.stop', index: 0 },
  },
  threads: {
    path: '/v1/threads/t/runs',
    request: { assistant_id: 'asst_1', instructions: 'hi' },
    part: (value) => ({
      object: 'thread.message.delta',
      delta: { content: [{ index: 0, type: 'text', text: { value } }] },
    }),
    end: { object: 'thread.run', status: 'completed' },
  },
}

describe.each(Object.entries(STREAMS))(
  'streamed: %s',
  (_name, { path, request, part, end, isLines = false }) => {
    const ask = (...texts: readonly string[]) => {
      stack.llm.answer(streamed([...texts.map(part), end], isLines))
      return post(path, request)
    }

    test('a mask crosses parts', async () => {
      const answer = await ask('The sec', 'ret is ', 'out.')
      expect(answer.status).toBe(200)
      expect(joined(answer.body)).toBe('The **** is out.')
    })

    test('a reject ends the stream, with nothing of the text', async () => {
      const answer = await ask('So you may bl', 'ock this.')
      expect(joined(answer.body)).toBe('')
      expect(answer.body).toMatch(/reject|blocked/)
    })
  },
)

test('a reply that could not be read is refused before the model is asked', async () => {
  const answer = await post('/v1/audio/speech', { model: 'm', input: 'hi', voice: 'alloy' })
  expect(answer.status).toBe(400)
  expect(answer.body).toContain("OpenAI's speech API")
  expect(stack.llm.requests).toEqual([])
  expect(stack.webhook.requests).toEqual([])
})
