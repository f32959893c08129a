// Texts that their provider has signed, changed by a webhook, through the whole product: no client and no provider gets
// a changed text under a signature that was made for another one (promptGuard.signedTexts).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  answerJson,
  both,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { send } from '../support/http.js'

let stack: GuardedStack

beforeAll(async () => {
  const guard = both(hook('guard'))
  stack = await startGuardedStack([
    ...guardedRoute('/strip', guard),
    ...guardedRoute('/refuse', { ...guard, signedTexts: 'Refuse' }),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const SIGNATURE = 'EqQBCkgIARABGAIiQL3dPf9f'

const thinking = (text: string, signature = SIGNATURE): object => ({
  type: 'thinking',
  thinking: text,
  signature,
})
const user = { role: 'user', content: 'Hello' }
const turn = (...content: object[]): object => ({
  model: 'claude',
  max_tokens: 8,
  messages: [user, { role: 'assistant', content }, user],
})
const reply = (...content: object[]): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content,
  stop_reason: 'end_turn',
  usage: { input_tokens: 1, output_tokens: 1 },
})
const said = { type: 'text', text: 'Hi' }

const post = (path: string, body: object) =>
  send(stack.origin, `${path}/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

describe('Strip, the default', () => {
  test('a request is sent without the thought', async () => {
    stack.llm.answer(answerJson(reply(said)))
    const { status } = await post('/strip', turn(thinking('a secret'), thinking('b'), said))
    expect(status).toBe(200)
    expect(stack.llm.requests[0]?.body).toBe(JSON.stringify(turn(thinking('b'), said)))
  })

  test('a reply loses its signature, and the next request the thought', async () => {
    stack.llm.answer(answerJson(reply(thinking('a secret'), said)))
    const { body } = await post('/strip', { ...turn(), messages: [user] })
    const { content } = JSON.parse(body) as { content: object[] }
    expect(content).toEqual([thinking('a ****', ''), said])
    await post('/strip', turn(...content))
    expect(stack.llm.requests[1]?.body).toBe(JSON.stringify(turn(said)))
  })
})

describe('Refuse', () => {
  const REFUSED = {
    type: 'error',
    error: { message: 'The guardrail would change a text that is signed.' },
  }

  test('a request is rejected', async () => {
    const { status, body } = await post('/refuse', turn(thinking('a secret'), said))
    expect([status, JSON.parse(body)]).toMatchObject([403, REFUSED])
    expect(stack.llm.requests).toEqual([])
  })

  test('a reply is rejected', async () => {
    stack.llm.answer(answerJson(reply(thinking('a secret'), said)))
    const { status, body } = await post('/refuse', { ...turn(), messages: [user] })
    expect([status, JSON.parse(body)]).toMatchObject([403, REFUSED])
    expect(body).not.toContain('secret')
  })

  test('what changes elsewhere is written', async () => {
    stack.llm.answer(answerJson(reply(thinking('a'), { type: 'text', text: 'a secret' })))
    const { status, body } = await post('/refuse', turn(thinking('b'), said))
    expect([status, JSON.parse(body)]).toEqual([
      200,
      reply(thinking('a'), { type: 'text', text: 'a ****' }),
    ])
  })
})
