// The demo's LLM server, as the official client sees it.

import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  answerPieces,
  type LlmServer,
  longAnswer,
  startLlmServer,
} from '../../../src/cli/demo/llm-server.js'

const EMAIL = /[\w.]@[\w.]+\.[a-z]/
const ADDRESS = 'carol.jones@staff.example.com'

let server: LlmServer
let origin: string
let client: OpenAI
let prompts: string[]
let answers: number

const told = {
  onPrompt: (prompt: string) => prompts.push(prompt),
  onAnswered: () => (answers += 1),
}

beforeAll(async () => {
  server = await startLlmServer(told)
  origin = `http://${server.host}:${String(server.port)}`
  client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: 'any', maxRetries: 0 })
})
afterAll(() => server.close())
beforeEach(() => {
  prompts = []
  answers = 0
})

const hello = { model: 'parrot', messages: [{ role: 'user' as const, content: 'hello' }] }

test('repeats the prompt, and adds an address', async () => {
  const completion = await client.chat.completions.create(hello)
  expect(completion.choices[0]).toMatchObject({
    message: { role: 'assistant', content: `You wrote: "hello" Ask ${ADDRESS} about it.` },
    finish_reason: 'stop',
  })
  expect([prompts, answers]).toEqual([['hello'], 1])
})

test('streams in pieces, over more than a second', async () => {
  const pieces: string[] = []
  const began = performance.now()
  for await (const chunk of await client.chat.completions.create({ ...hello, stream: true }))
    pieces.push(chunk.choices[0]?.delta.content ?? '')
  expect(performance.now() - began).toBeGreaterThan(1_000)
  expect(pieces.join('')).toMatch(/^You wrote: "hello" That is all /)
  expect(answers).toBe(1)
})

test('holds an address of which no piece tells, far from the start and farther from the end', () => {
  const pieces = answerPieces(longAnswer('hello'))
  const [before, after] = pieces.join('').split(ADDRESS)
  expect(before?.length).toBeGreaterThan(256 + 128)
  expect(after?.length).toBeGreaterThan(512 + 128)
  expect(pieces.filter((piece) => ADDRESS.includes(piece)).length).toBeGreaterThan(2)
  expect(pieces.some((piece) => EMAIL.test(piece))).toBe(false)
})

test('stops sending when the client has disconnected', async () => {
  const stream = await client.chat.completions.create({ ...hello, stream: true })
  await stream[Symbol.asyncIterator]().next()
  stream.controller.abort()
  await server.close()
  await expect(fetch(origin)).rejects.toThrow('fetch failed')
  server = await startLlmServer({ ...told, port: server.port })
})

test('reads parts of text, and lists its model', async () => {
  const content = [
    { type: 'text' as const, text: 'one ' },
    { type: 'image_url' as const, image_url: { url: 'data:,' } },
    { type: 'text' as const, text: 'two' },
  ]
  await client.chat.completions.create({ model: 'any', messages: [{ role: 'user', content }] })
  expect(prompts).toEqual(['one two'])
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['parrot'])
})

test.each(['', 'null', '[]', '{"messages":{}}', '{"messages":[]}', '{"messages":[1]}'])(
  '400 in the form of the API for %s',
  async (body) => {
    const answer = await fetch(`${origin}/v1/chat/completions`, { method: 'POST', body })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
  },
)

test('404 for everything else', async () => {
  await expect(client.embeddings.create({ model: 'm', input: 'a' })).rejects.toMatchObject({
    status: 404,
    message: '404 There is no POST /v1/embeddings.',
  })
})
