// A guarded third-party LLM server with OpenAI's official client: what reaches the server and what the client sees.

import OpenAI, { APIConnectionTimeoutError, APIError, RateLimitError } from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Aimock, startAimock } from '../support/aimock.js'
import { type LlmStack, startLlmStack } from '../support/llm-stack.js'

let llm: Aimock
let stack: LlmStack

beforeAll(async () => {
  llm = await startAimock([
    {
      match: { userMessage: 'weather' },
      response: { toolCalls: [{ id: 'call_1', name: 'weather', arguments: { city: 'secret' } }] },
    },
    { match: { userMessage: 'forbidden' }, response: { content: 'you may block this' } },
    { match: {}, response: { content: 'the secret is out' } },
  ])
  stack = await startLlmStack(llm)
})
afterAll(async () => {
  await stack.close()
  await llm.close()
})
beforeEach(async () => {
  await llm.forget()
  stack.webhook.requests.length = 0
})

const client = (path: string, headers: Record<string, string> = {}) =>
  new OpenAI({
    baseURL: `${stack.origin}${path}/v1`,
    apiKey: 'k',
    maxRetries: 0,
    defaultHeaders: headers,
  }).chat.completions

const ask = (path: string, content: string, headers: Record<string, string> = {}) =>
  client(path, headers).create({ model: 'm', messages: [{ role: 'user', content }] })

/** The error that the client raises. */
async function raised(call: Promise<unknown>): Promise<APIError> {
  const outcome = await call.catch((error: unknown) => error)
  if (!(outcome instanceof APIError)) throw new Error(`no error: ${JSON.stringify(outcome)}`)
  return outcome
}

describe('a chat', () => {
  test('is masked on its way to the model and on its way back', async () => {
    const { choices } = await ask('/guarded', 'my secret')
    expect(choices[0]?.message.content).toBe('the **** is out')
    expect(await llm.received()).toEqual([expect.stringContaining('"content":"my ****"')])
  })

  test('with a forbidden prompt never reaches the model', async () => {
    expect(await raised(ask('/guarded', 'block this'))).toMatchObject({ status: 403 })
    expect(await llm.received()).toEqual([])
  })

  test('with a forbidden reply ends in an error, without the reply', async () => {
    const error = await raised(ask('/guarded', 'something forbidden'))
    expect(error).toMatchObject({ status: 403 })
    expect(error.message).not.toContain('you may')
    expect(await llm.received()).toHaveLength(1)
  })

  test('never reaches the model while a webhook is away; its reply never the client', async () => {
    expect(await raised(ask('/away', 'hi'))).toMatchObject({
      status: 503,
      code: 'guardrail_unavailable',
    })
    expect(await llm.received()).toEqual([])
    const late = await raised(ask('/late', 'hi'))
    expect(late).toMatchObject({ status: 503, code: 'guardrail_unavailable' })
    expect(late.message).not.toContain('secret')
    expect(await llm.received()).toHaveLength(1)
  })

  test('keeps its tool calls; with inspectToolCalls their arguments are masked too', async () => {
    const call = async (path: string) => (await ask(path, 'the weather')).choices[0]?.message
    const expected = { id: 'call_1', type: 'function' }
    expect((await call('/guarded'))?.tool_calls).toEqual([
      { ...expected, function: { name: 'weather', arguments: '{"city":"secret"}' } },
    ])
    expect((await call('/tools'))?.tool_calls).toEqual([
      { ...expected, function: { name: 'weather', arguments: '{"city":"****"}' } },
    ])
  })

  test('with the results of tools is masked in these too, and the rest arrives as it was', async () => {
    const tool = { id: 'call_1', type: 'function' as const }
    await client('/guarded').create({
      model: 'm',
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ ...tool, function: { name: 'weather', arguments: '{"city":"secret"}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'a secret place' },
      ],
    })
    const [body = ''] = await llm.received()
    expect(body).toContain('"arguments":"{\\"city\\":\\"secret\\"}"')
    expect(body).toContain('"tool_call_id":"call_1","content":"a **** place"')
  })
})

describe('a model in trouble', () => {
  const chaos = (mode: string) => ask('/guarded', 'hi', { [`x-aimock-chaos-${mode}`]: '1' })

  test('answers 500: the client gets its error', async () => {
    expect(await raised(chaos('drop'))).toMatchObject({ status: 500, code: 'chaos_drop' })
  })

  test('answers 429: the client gets its error, and when to come back', async () => {
    const error = await raised(chaos('ratelimit'))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ status: 429, code: 'chaos_ratelimit' })
    expect(error.headers?.get('retry-after')).toBe('1')
  })

  test('answers what is not JSON: 503, and nothing of it', async () => {
    const error = await raised(chaos('malformed'))
    expect(error).toMatchObject({ status: 503, code: 'guardrail_unreadable' })
    expect(error.message).not.toContain('chaos')
  })

  test('breaks the connection: an error of the gateway', async () => {
    expect((await raised(chaos('disconnect'))).status).toBe(503)
  })

  test('is slow: the reply comes masked, and a client that does not wait gets nothing', async () => {
    const slow = { 'x-aimock-chaos-latency': '400' }
    const messages = [{ role: 'user' as const, content: 'hi' }]
    const impatient = client('/guarded', slow).create({ model: 'm', messages }, { timeout: 100 })
    expect(await raised(impatient)).toBeInstanceOf(APIConnectionTimeoutError)
    const { choices } = await ask('/guarded', 'hi', slow)
    expect(choices[0]?.message.content).toBe('the **** is out')
  })

  test('and the next chat is served as ever', async () => {
    expect((await ask('/guarded', 'hi')).choices[0]?.message.content).toBe('the **** is out')
  })
})
