// LiteLLM's proxy as the LLM server behind a guarded route: another implementation of the APIs in addition to aimock's.

import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Aimock, startAimock } from '../support/aimock.js'
import { askLlm, LLM_APIS, type LlmApi } from '../support/clients/llm-clients.js'
import { type LlmStack, startLlmStack } from '../support/llm-stack.js'
import { type PythonServer, startLitellm } from './support/python-server.js'

let behind: Aimock
let litellm: PythonServer
let stack: LlmStack

const LONGER = 'a long way to the secret, and the secret of it'
const MASKED = 'a long way to the ****, and the **** of it'

/** "m", "mock" and "blocked" are answered by LiteLLM itself; "forwarded" by an LLM behind it, whose journal says what arrived. */
beforeAll(async () => {
  behind = await startAimock([{ match: {}, response: { content: 'the secret of the other' } }])
  litellm = await startLitellm({
    m: { model: 'openai/mock', api_key: 'k', mock_response: LONGER },
    mock: { model: 'openai/mock', api_key: 'k', mock_response: 'the secret is out' },
    blocked: { model: 'openai/mock', api_key: 'k', mock_response: 'you may block this' },
    forwarded: {
      model: 'openai/forwarded',
      api_key: 'k',
      api_base: `http://127.0.0.1:${String(behind.port)}/v1`,
    },
  })
  stack = await startLlmStack(litellm)
})
afterAll(async () => {
  await stack.close()
  await litellm.close()
  await behind.close()
})
beforeEach(() => behind.forget())

const client = () =>
  new OpenAI({ baseURL: `${stack.origin}/guarded/v1`, apiKey: 'k', maxRetries: 0 })
async function ask(model: string, content: string) {
  const messages = [{ role: 'user' as const, content }]
  const { choices } = await client().chat.completions.create({ model, messages })
  return choices[0]?.message.content
}

test('its reply is masked', async () => {
  expect(await ask('mock', 'hi')).toBe('the **** is out')
})

test('a prompt is masked on its way through it, and so is the reply from behind it', async () => {
  expect(await ask('forwarded', 'my secret')).toBe('the **** of the other')
  expect(await behind.received()).toEqual([expect.stringContaining('"content":"my ****"')])
})

test('a forbidden prompt or reply is an error', async () => {
  await expect(ask('forwarded', 'block this')).rejects.toMatchObject({ status: 403 })
  expect(await behind.received()).toEqual([])
  await expect(ask('blocked', 'hi')).rejects.toMatchObject({ status: 403 })
})

test('its own error reaches the client', async () => {
  await expect(ask('unknown', 'hi')).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('unknown') as string,
  })
})

/** LiteLLM has no mock of a stream for the others. */
const STREAMS: readonly LlmApi[] = ['chat', 'completions', 'gemini']
const kinds = [
  ...LLM_APIS.map((api) => [api, 'whole', false] as const),
  ...STREAMS.map((api) => [api, 'streamed', true] as const),
]

test.each(kinds)(
  '%s, %s: its reply is masked, and the original appears nowhere else',
  async (...kind) => {
    const [api, , stream] = kind
    const heard = await askLlm(api, { url: `${stack.origin}/guarded`, prompt: 'hi', stream })
    expect(heard.error).toBeUndefined()
    expect(heard.text).toBe(MASKED)
    expect(heard.everything).not.toMatch(/sec|cret/)
  },
)
