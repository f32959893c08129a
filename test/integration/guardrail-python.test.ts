// OpenAI's Python client at a guarded LLM: masked text, and the error that it raises for a rejection.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Aimock, startAimock } from '../support/aimock.js'
import { type PythonOpenai, startPythonOpenai } from '../support/clients/python-openai.js'
import { type LlmStack, startLlmStack } from '../support/llm-stack.js'

let llm: Aimock
let stack: LlmStack
let python: PythonOpenai

beforeAll(async () => {
  llm = await startAimock([
    { match: { userMessage: 'forbidden' }, response: { content: 'you may block this' } },
    { match: {}, response: { content: 'the secret is out' } },
  ])
  stack = await startLlmStack(llm)
  python = startPythonOpenai(stack.origin)
})
afterAll(async () => {
  await python.close()
  await stack.close()
  await llm.close()
})
beforeEach(() => llm.forget())

const chat = { path: '/guarded', api: 'chat', stream: false } as const

describe.each(['chat', 'responses'] as const)('%s', (api) => {
  test.each([
    ['whole', false],
    ['streamed', true],
  ])('%s: gets the masked reply to a masked prompt', async (_name, stream) => {
    const question = { ...chat, api, stream, prompt: 'my secret' }
    expect(await python.ask(question)).toEqual({ text: 'the **** is out' })
    const [received] = await llm.received()
    expect(received).toContain('my ****')
    expect(received).not.toContain('secret')
  })

  test('streamed: raises APIError for a reply that is refused, and gets nothing of it', async () => {
    const question = { ...chat, api, stream: true, prompt: 'something forbidden' }
    expect(await python.ask(question)).toEqual({ error: 'APIError', status: null, text: '' })
  })
})

test('raises PermissionDeniedError for a prompt that is refused, and the model is not asked', async () => {
  expect(await python.ask({ ...chat, prompt: 'block this' })).toEqual({
    error: 'PermissionDeniedError',
    status: 403,
    text: '',
  })
  expect(await llm.received()).toEqual([])
})

test('raises PermissionDeniedError for a reply that is refused', async () => {
  expect(await python.ask({ ...chat, prompt: 'something forbidden' })).toMatchObject({
    error: 'PermissionDeniedError',
    text: '',
  })
})

test('raises InternalServerError while the webhook is away', async () => {
  expect(await python.ask({ ...chat, path: '/away', prompt: 'hi' })).toMatchObject({
    error: 'InternalServerError',
    status: 503,
  })
})
