// Streamed replies from an LLM that compresses despite being asked not to, with the official client: checked as they
// arrive, and forwarded uncompressed (decisions 18 and 20).

import { once } from 'node:events'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import OpenAI, { APIError } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '../../testing/ports.js'
import { ENCODERS, flushed } from '../support/encoded-stream.js'
import {
  asked,
  chat,
  guardedRoute,
  type GuardedStack,
  hook,
  service,
  startGuardedStack,
} from '../support/guardrails.js'
import { delta, nextReply } from '../support/streaming-llm.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack([
    ...service('nobody', await freePort()),
    ...guardedRoute('/open', { response: [hook('nobody', { failureMode: 'FailOpen' })] }),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const ask = (path: string, signal?: AbortSignal) =>
  new OpenAI({
    baseURL: `${stack.origin}${path}/v1`,
    apiKey: 'k',
    maxRetries: 0,
  }).chat.completions.create(
    { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true },
    { signal },
  )

const says = (content: string): string => `data: ${JSON.stringify(delta({ content }))}\n\n`
const LONG = 'a word and '.repeat(200)

describe.each(Object.keys(ENCODERS))('%s', (encoding) => {
  const headers = { 'content-encoding': encoding, etag: '"1"' }

  test('text comes while the model speaks, masked, and the webhook saw all of it', async () => {
    const pieces = await flushed(encoding, [
      ...[LONG, LONG, 'a sec', 'ret', ' at the end'].map(says),
      'data: [DONE]\n\n',
    ])
    const reply = nextReply(stack.llm, headers)
    const stream = await ask('/both')
    const { response } = await reply
    for (const piece of pieces.slice(0, 2)) response.write(piece)
    let said = ''
    let isWholeReply = false
    for await (const { choices } of stream) {
      // The model has not sent the rest: this text left before it.
      if (said === '') for (const piece of pieces.slice(2)) response.write(piece)
      if (said === '') response.end(() => (isWholeReply = true))
      said += choices[0]?.delta.content ?? ''
    }
    expect(isWholeReply).toBe(true)
    expect(said).toBe(`${LONG}${LONG}a **** at the end`)
    expect(stack.llm.requests[0]?.headers['accept-encoding']).toBe('identity')
  })

  test('its headers describe what is sent', async () => {
    const reply = nextReply(stack.llm, headers)
    const answer = stack.post('/both', chat('x', { stream: true }))
    const { response } = await reply
    const all = Buffer.concat(await flushed(encoding, [says('a secret'), 'data: [DONE]\n\n']))
    response.end(all)
    const { status, headers: got, body } = await answer
    expect({ status, body }).toEqual({
      status: 200,
      body: `${says('a ****')}data: [DONE]\n\n`,
    })
    for (const name of ['content-encoding', 'etag', 'content-length'])
      expect(got).not.toHaveProperty(name)
  })

  test.each(['breaks off', 'is damaged'])('that %s ends with an error', async (how) => {
    const [first] = await flushed(encoding, [says(LONG), says('a secret')])
    const reply = nextReply(stack.llm, headers)
    const answer = stack.post('/both', chat('x', { stream: true }))
    const { response } = await reply
    response.write(first)
    if (how === 'is damaged') response.write(Buffer.alloc(64, 0xff))
    response.end()
    const { status, body } = await answer
    expect(status).toBe(200)
    expect(body).toContain('"guardrail_unreadable"')
    expect(body).toContain('compressed in a way that cannot be read')
  })

  test('that the client leaves is left by all', async () => {
    const seen = await flushed(encoding, [says(LONG), says(LONG)])
    const leaving = new AbortController()
    const reply = nextReply(stack.llm, headers)
    const stream = await ask('/both', leaving.signal)
    const llm = await reply
    for (const piece of seen.slice(0, 2)) llm.response.write(piece)
    await stream[Symbol.asyncIterator]().next()
    leaving.abort()
    await llm.closed
  })
})

test('if every webhook fails open, the text is forwarded uncompressed although none answers', async () => {
  const reply = nextReply(stack.llm, { 'content-encoding': 'gzip' })
  const stream = await ask('/open')
  const { response } = await reply
  response.end(Buffer.concat(await flushed('gzip', [says('a secret'), 'data: [DONE]\n\n'])))
  let said = ''
  for await (const { choices } of stream) said += choices[0]?.delta.content ?? ''
  expect(said).toBe('a secret')
})

test('an unsupported encoding: 503, or unchanged if every webhook fails open', async () => {
  for (const [path, status] of [
    ['/both', 503],
    ['/open', 200],
  ] as const) {
    const reply = nextReply(stack.llm, { 'content-encoding': 'compress' })
    const answer = stack.post(path, chat('x', { stream: true }))
    ;(await reply).response.end('a secret')
    const { status: got, body, headers } = await answer
    expect(got).toBe(status)
    expect(body.includes('a secret')).toBe(status === 200)
    expect(headers['content-encoding']).toBe(status === 200 ? 'compress' : undefined)
  }
})

test('its 503 is whole also where the LLM sends headers long before its body', async () => {
  const reply = nextReply(stack.llm, { 'content-encoding': 'compress' })
  const request = httpRequest(`${stack.origin}/both`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  }).end(chat('x', { stream: true }))
  const [head] = (await once(request, 'response')) as [IncomingMessage]
  expect(head.statusCode).toBe(503)
  ;(await reply).response.end('a secret')
  expect(await text(head)).toContain('"guardrail_unreadable"')
})

test('what it grows to has no limit, and a piece of it has', async () => {
  const zeros = says('0'.repeat(11 * 1024 * 1024))
  const reply = nextReply(stack.llm, { 'content-encoding': 'gzip' })
  const raised = ask('/both').then((stream) => stream[Symbol.asyncIterator]().next())
  ;(await reply).response.end(Buffer.concat(await flushed('gzip', [zeros])))
  const error: unknown = await raised.catch((error: unknown) => error)
  expect(error).toBeInstanceOf(APIError)
  expect(error).toMatchObject({ code: 'guardrail_unreadable' })
  expect(asked(stack.webhook)).toHaveLength(1)
})
