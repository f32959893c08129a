// Every LLM API through a guarded route, with its own client, unary and streamed, from a third-party server.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Aimock, startAimock } from '../support/aimock.js'
import { askLlm, type Heard, type LlmApi } from '../support/clients/llm-clients.js'
import { type LlmStack, startLlmStack } from '../support/llm-stack.js'

let llm: Aimock
let stack: LlmStack

const HARMLESS = 'Nothing to see here, as ever: a text of some length in many pieces.'
const CALL = { id: 'call_1', name: 'weather', arguments: { city: 'secret' } }

beforeAll(async () => {
  llm = await startAimock([
    { match: { userMessage: 'harmless' }, response: { content: HARMLESS } },
    { match: { userMessage: 'forbidden' }, response: { content: 'Well, you may block this.' } },
    { match: { userMessage: 'weather' }, response: { toolCalls: [CALL] } },
    { match: { userMessage: 'both' }, response: { content: 'a secret call', toolCalls: [CALL] } },
    {
      match: { userMessage: 'think' },
      response: { content: 'so the secret is out', reasoning: 'a secret thought' },
    },
    { match: {}, response: { content: 'the secret is out, the secret is told' } },
  ])
  stack = await startLlmStack(llm)
})
afterAll(async () => {
  await stack.close()
  await llm.close()
})
beforeEach(() => llm.forget())

const apis: readonly LlmApi[] = ['chat', 'responses', 'messages', 'gemini']
const kinds = apis.flatMap((api) => [
  [api, 'whole', false] as const,
  [api, 'streamed', true] as const,
])

describe.each(kinds)('%s, %s', (api, _name, stream) => {
  const ask = (prompt: string, path = '/guarded', headers = {}): Promise<Heard> =>
    askLlm(api, { url: stack.origin + path, prompt, stream, headers })

  test('what is allowed passes', async () => {
    const heard = await ask('something harmless')
    expect(heard).toMatchObject({ text: HARMLESS, calls: [] })
    expect(heard.error).toBeUndefined()
  })

  test('prompt and reply are masked, wherever the reply has its text', async () => {
    const heard = await ask('my secret')
    expect(heard.error).toBeUndefined()
    expect(heard.text).toBe('the **** is out, the **** is told')
    expect(heard.everything).not.toMatch(/secr|cret/)
    expect(await llm.received()).toEqual([expect.stringContaining('"content":"my ****"')])
  })

  test('what the model thinks is masked too', async () => {
    const heard = await ask('think')
    expect(heard.error).toBeUndefined()
    expect(heard.text).toBe('so the **** is out')
    expect(heard.everything).not.toMatch(/secr|cret/)
  })

  test('a forbidden prompt is refused before the model', async () => {
    expect(await ask('block this')).toMatchObject({ text: '', error: { status: 403 } })
    expect(await llm.received()).toEqual([])
  })

  test('a forbidden reply is an error without its text', async () => {
    const { text, error, everything } = await ask('something forbidden')
    expect(error).toBeDefined()
    expect(text + everything).not.toMatch(/block this|you may/)
  })

  test('a webhook that is away ends it', async () => {
    const { text, error, everything } = await ask('hi', '/late')
    expect(error).toBeDefined()
    expect(text + everything).not.toMatch(/secr|cret|told/)
  })

  test('tool calls survive; where they are inspected, their arguments are masked', async () => {
    expect(await ask('the weather')).toMatchObject({ calls: ['weather({"city":"secret"})'] })
    expect(await ask('the weather', '/tools')).toMatchObject({
      calls: ['weather({"city":"****"})'],
    })
  })

  test('text before a tool call is masked, and the call survives', async () => {
    const heard = await ask('both')
    expect(heard).toMatchObject({ text: 'a **** call', calls: ['weather({"city":"secret"})'] })
    expect(heard.error).toBeUndefined()
  })

  test.each(['drop', 'malformed', 'disconnect', 'ratelimit'])(
    'a model that fails (%s) is an error',
    async (mode) => {
      const { text, error } = await ask('hi', '/guarded', { [`x-aimock-chaos-${mode}`]: '1' })
      expect(text).toBe('')
      expect(error?.status).toBe({ drop: 500, ratelimit: 429 }[mode] ?? 503)
    },
  )
})
