// Streams of a guarded third-party LLM server, from the official clients' point of view.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Aimock, startAimock } from '../support/aimock.js'
import { askLlm } from '../support/clients/llm-clients.js'
import { type LlmStack, startLlmStack } from '../support/llm-stack.js'

let llm: Aimock
let stack: LlmStack

const LONG = Array.from({ length: 40 }, (_, index) => `word ${String(index)}`).join(', ')

beforeAll(async () => {
  llm = await startAimock(
    [
      {
        match: { userMessage: 'weather' },
        response: { toolCalls: [{ id: 'call_1', name: 'weather', arguments: { city: 'Ulm' } }] },
      },
      { match: { userMessage: 'cut' }, response: { content: LONG }, truncateAfterChunks: 4 },
      { match: {}, response: { content: LONG } },
    ],
    { characters: 7, milliseconds: 20 },
  )
  stack = await startLlmStack(llm)
})
afterAll(async () => {
  await stack.close()
  await llm.close()
})
beforeEach(() => llm.forget())

describe('where only prompts are guarded', () => {
  const ask = (prompt: string) =>
    askLlm('chat', { url: `${stack.origin}/prompts`, prompt, stream: true })

  test('the prompt is masked, and the reply comes piece by piece', async () => {
    const heard = await ask('my secret')
    expect(heard).toMatchObject({ text: LONG, calls: [] })
    expect(heard.error).toBeUndefined()
    expect(heard.turns).toBeGreaterThan(20)
    expect(await llm.received()).toEqual([expect.stringContaining('"content":"my ****"')])
  })

  test('tool calls come as they are', async () => {
    expect((await ask('the weather')).calls).toEqual(['weather({"city":"Ulm"})'])
  })

  test('a forbidden prompt is an error before the stream, and the model is not asked', async () => {
    expect(await ask('block this')).toMatchObject({ text: '', error: { status: 403 } })
    expect(await llm.received()).toEqual([])
  })

  test('a stream that the model breaks off is an error', async () => {
    const { text, error } = await ask('cut it')
    expect(error).toBeDefined()
    expect(LONG.startsWith(text)).toBe(true)
    expect(text.length).toBeLessThan(LONG.length)
  })
})
