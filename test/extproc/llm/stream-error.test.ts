// The error that ends a stream, from the official clients' point of view: the text before it, then an exception.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, expect, test } from 'vitest'
import type { OwnError } from '../../../src/extproc/llm/api-error.js'
import { arrayError, lineError, streamError } from '../../../src/extproc/llm/stream-error.js'
import { eventTexts, problemOf } from './support.js'

const ERROR: OwnError = {
  status: 403,
  message: 'the reply was rejected by a guardrail',
  code: 'content_filter',
}

let server: Server | undefined

afterEach(async () => {
  await new Promise((done) => (server === undefined ? done(undefined) : server.close(done)))
  server = undefined
})

/** A server that answers everything with this stream. */
async function streaming(body: string): Promise<string> {
  server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body)
  })
  await new Promise<void>((done) => server?.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

const typed = (data: { readonly type: string }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

/** The text before the error, and the error. */
async function drain(events: AsyncIterable<unknown>): Promise<readonly [number, unknown]> {
  let count = 0
  try {
    const iterator = events[Symbol.asyncIterator]()
    while ((await iterator.next()).done !== true) count += 1
  } catch (error) {
    return [count, error]
  }
  return [count, undefined]
}

const openAi = async (body: string): Promise<OpenAI> =>
  new OpenAI({ apiKey: 'none', baseURL: await streaming(body), maxRetries: 0 })

test.each(['openai-chat', undefined] as const)('chat completions (%s)', async (api) => {
  const chunk = {
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { content: 'a' } }],
  }
  const client = await openAi(event(chunk) + streamError(api, ERROR))
  const [count, error] = await drain(
    await client.chat.completions.create({ model: 'm', messages: [], stream: true }),
  )
  expect(count).toBe(1)
  expect(error).toBeInstanceOf(OpenAI.APIError)
  expect(error).toMatchObject({ message: ERROR.message, code: 'content_filter' })
})

test('completions', async () => {
  const client = await openAi(
    event({ object: 'text_completion', choices: [{ index: 0, text: 'a' }] }) +
      streamError('openai-completions', ERROR),
  )
  const [count, error] = await drain(
    await client.completions.create({ model: 'm', prompt: 'p', stream: true }),
  )
  expect(count).toBe(1)
  expect(error).toBeInstanceOf(OpenAI.APIError)
  expect(error).toMatchObject({ message: ERROR.message, code: 'content_filter' })
})

test('responses', async () => {
  const client = await openAi(
    typed({ type: 'response.in_progress' }) + streamError('openai-responses', ERROR),
  )
  const [count, error] = await drain(
    await client.responses.create({ model: 'm', input: 'i', stream: true }),
  )
  expect(count).toBe(1)
  expect(error).toBeInstanceOf(OpenAI.APIError)
  expect(error).toMatchObject({ message: ERROR.message, code: 'content_filter' })
})

test.each([
  [403, 'invalid_request_error'],
  [503, 'api_error'],
])('messages (%i)', async (status, type) => {
  const body =
    typed({ type: 'content_block_stop' }) + streamError('anthropic-messages', { ...ERROR, status })
  const client = new Anthropic({ apiKey: 'none', baseURL: await streaming(body), maxRetries: 0 })
  const [count, error] = await drain(
    await client.messages.create({ model: 'm', max_tokens: 1, messages: [], stream: true }),
  )
  expect(count).toBe(1)
  expect(error).toBeInstanceOf(Anthropic.APIError)
  expect(error).toMatchObject({ message: expect.stringContaining(ERROR.message) as string, type })
})

test.each([
  [403, 'PERMISSION_DENIED'],
  [503, 'UNAVAILABLE'],
  [418, 'UNKNOWN'],
])('Gemini (%i)', (status, name) => {
  const body = { error: { code: status, message: ERROR.message, status: name } }
  expect(streamError('gemini', { ...ERROR, status })).toBe(event(body))
  expect(JSON.parse(`[{}${arrayError({ ...ERROR, status }, false)}`)).toEqual([{}, body])
  expect(JSON.parse(arrayError({ ...ERROR, status }, true))).toEqual([body])
})

test('an AI SDK, AG-UI and Cohere have an event of their own', () => {
  const { message } = ERROR
  expect(streamError('ai-sdk', ERROR)).toBe(event({ type: 'error', errorText: message }))
  expect(streamError('ag-ui', ERROR)).toBe(
    event({ type: 'RUN_ERROR', message, code: 'content_filter' }),
  )
  expect(streamError('cohere', ERROR)).toBe(
    typed({ type: 'message-end', delta: { finish_reason: 'ERROR', error: message } } as never),
  )
})

test('a stream of lines ends with one', () => {
  expect(lineError(ERROR)).toBe(`${JSON.stringify({ error: ERROR.message })}\n`)
  expect(lineError({ ...ERROR, reason: 'why' })).toContain('"reason":"why"')
})

test.each([
  ...(['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini'] as const),
  ...(['gemini-interactions', 'openai-threads'] as const),
  ...(['cohere', 'ai-sdk', 'ag-ui', 'ollama', 'mistral-conversations'] as const),
])('of an error event of Gatehouse only the message is text (%s)', (api) => {
  const data = /^data: (.*)$/m.exec(streamError(api, ERROR))?.[1]
  expect(problemOf(data)).toBeUndefined()
  const texts = eventTexts(data).map((text) => text.replace(/^.* = /, ''))
  expect(new Set(texts)).toEqual(new Set([ERROR.message]))
})
