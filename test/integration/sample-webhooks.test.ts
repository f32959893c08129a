// The sample webhooks that users copy, with a real LLM route: what each masks and what it blocks.

import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Backend, startBackend } from '../support/backend.js'
import {
  API_GROUP,
  backendRef,
  gateway,
  httpRoute,
  proxyBackend,
  rule,
} from '../support/resources.js'
import {
  type SampleWebhook,
  startFastApiWebhook,
  startNodeWebhook,
} from '../support/sample-webhook.js'
import { type Stack, startStack } from '../support/stack.js'

let llm: Backend
let stack: Stack
let samples: readonly SampleWebhook[]

/** A route /NAME to the LLM, guarded in both phases by the webhook of that name. */
function guardedBy(name: string, webhook: SampleWebhook): readonly object[] {
  const guards = [{ webhook: { backendRef: backendRef(name) } }]
  return [
    proxyBackend(name, webhook),
    httpRoute(name, { rules: [rule(`/${name}`, 'llm')] }),
    {
      apiVersion: `${API_GROUP}/v1alpha1`,
      kind: 'ProxyPolicy',
      metadata: { name },
      spec: {
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
        backend: { ai: { promptGuard: { request: guards, response: guards } } },
      },
    },
  ]
}

beforeAll(async () => {
  llm = await startBackend('llm')
  const [node, fastApi] = await Promise.all([startNodeWebhook(), startFastApiWebhook()])
  samples = [node, fastApi]
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('llm', llm),
      ...guardedBy('node', node),
      ...guardedBy('fastapi', fastApi),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await Promise.all([llm.close(), ...samples.map((sample) => sample.close())])
})

beforeEach(() => {
  llm.requests.length = 0
})

/** The text of the model's reply that the client gets. */
async function ask(name: string, content: string, reply: string): Promise<string | null> {
  const message = { role: 'assistant', content: reply }
  llm.answer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ object: 'chat.completion', choices: [{ index: 0, message }] }))
  })
  const client = new OpenAI({ baseURL: `${stack.origin}/${name}`, apiKey: 'k', maxRetries: 0 })
  const messages = [{ role: 'user' as const, content }]
  const completion = await client.chat.completions.create({ model: 'm', messages })
  return completion.choices[0]?.message.content ?? null
}

const promptsAtTheModel = (): unknown[] =>
  llm.requests.map(({ body }) => (JSON.parse(body) as { messages: unknown }).messages)

describe.each(['node', 'fastapi'])('%s', (name) => {
  test('masks addresses: the model and the client never see them', async () => {
    const prompt = 'I am bob.smith+x@mail.example.co.uk, write to <eve@example.com>.'
    const reply = await ask(name, prompt, 'Done: eve@example.com knows.')
    expect(promptsAtTheModel()).toEqual([
      [{ role: 'user', content: 'I am [email], write to <[email]>.' }],
    ])
    expect(reply).toBe('Done: [email] knows.')
  })

  test('lets other texts pass as they are', async () => {
    const text = 'An @ alone, a@b, äöü 🙂 and swordfishes'
    expect(await ask(name, text, text)).toBe(text)
    expect(promptsAtTheModel()).toEqual([[{ role: 'user', content: text }]])
  })

  test('blocks a word in a prompt: 403 with its text, and the model is not asked', async () => {
    await expect(ask(name, 'The password is SwordFish.', '')).rejects.toMatchObject({
      status: 403,
      message: '403 Blocked: there is a word that may not pass.',
    })
    expect(llm.requests).toEqual([])
  })

  test('blocks it in a reply as well', async () => {
    await expect(ask(name, 'hi', 'It is swordfish.')).rejects.toMatchObject({ status: 403 })
  })
})
