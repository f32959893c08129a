// Presidio, a third-party detector, behind a guardrail webhook: what it finds in prompts and in replies.

import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Aimock, startAimock } from '../support/aimock.js'
import { askLlm } from '../support/clients/llm-clients.js'
import { both, guardedRoute, hook, service } from '../support/guardrails.js'
import { gateway, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { type PythonServer, startPresidio } from './support/python-server.js'

let presidio: PythonServer
let llm: Aimock
let stack: Stack

const REPLY = 'Ask ann@example.org or 10.1.2.3, and pay with 4111 1111 1111 1111 as ever.'
const MASKED = 'Ask <EMAIL_ADDRESS> or <IP_ADDRESS>, and pay with <CREDIT_CARD> as ever.'

beforeAll(async () => {
  llm = await startAimock([
    { match: { userMessage: 'harmless' }, response: { content: 'There are 4111 of 10.1.2.' } },
    { match: {}, response: { content: REPLY } },
  ])
  presidio = await startPresidio()
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('llm', llm),
      ...service('presidio', presidio.port),
      ...guardedRoute('/guarded', both(hook('presidio'))),
    ],
  })
})
afterAll(async () => {
  await stack.close()
  await presidio.close()
  await llm.close()
})
beforeEach(() => llm.forget())

const client = () =>
  new OpenAI({ baseURL: `${stack.origin}/guarded/v1`, apiKey: 'k', maxRetries: 0 })
async function ask(content: string) {
  const messages = [{ role: 'user' as const, content }]
  const { choices } = await client().chat.completions.create({ model: 'm', messages })
  return choices[0]?.message.content
}

test('masks what it finds in every message of a prompt', async () => {
  await client().chat.completions.create({
    model: 'm',
    messages: [
      { role: 'system', content: 'You are at 192.0.2.7.' },
      { role: 'user', content: [{ type: 'text', text: 'I am bob@example.com' }] },
      { role: 'assistant', content: 'Your card?' },
      { role: 'user', content: '5555-5555-5555-4444' },
    ],
  })
  const [body = '{}'] = await llm.received()
  expect((JSON.parse(body) as { messages: unknown }).messages).toEqual([
    { role: 'system', content: 'You are at <IP_ADDRESS>.' },
    { role: 'user', content: [{ type: 'text', text: 'I am <EMAIL_ADDRESS>' }] },
    { role: 'assistant', content: 'Your card?' },
    { role: 'user', content: '<CREDIT_CARD>' },
  ])
})

test('masks what it finds in a reply', async () => {
  expect(await ask('hi')).toBe(MASKED)
})

test('masks what it finds in a stream that cuts every word', async () => {
  const url = `${stack.origin}/guarded`
  const heard = await askLlm('chat', { url, prompt: 'hi', stream: true })
  expect(heard).toMatchObject({ text: MASKED })
  expect(heard.error).toBeUndefined()
})

test('leaves what is none of these as it was', async () => {
  expect(await ask('something harmless, as 4111 1111 1111 1112')).toBe('There are 4111 of 10.1.2.')
  expect(await llm.received()).toEqual([expect.stringContaining('as 4111 1111 1111 1112')])
})
