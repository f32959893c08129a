// What a streamed reply says about its tokens is counted once, at its end.

import { expect, test } from 'vitest'
import { countTokens } from '../../../src/extproc/webhook/token-usage.js'
import { guardrails } from '../support/guards.js'
import {
  ALLOW,
  asked,
  leaving,
  open,
  says,
  settled,
  startAfreshEachTime,
  tokens,
} from './support.js'

startAfreshEachTime()

const event = (data: object): Buffer => Buffer.from(`data: ${JSON.stringify(data)}\n\n`)
const usage = (model: string, input: number, output: number): Buffer =>
  event({ model, choices: [], usage: { prompt_tokens: input, completion_tokens: output } })

async function allowAll(): Promise<void> {
  for (const question of asked) question.answer(ALLOW)
  await settled()
}

test('the counts of the last event are those of the reply', async () => {
  const reply = open('FailClosed')
  await reply.push(Buffer.concat([says('hello'), usage('m', 12, 34)]))
  expect(tokens).toEqual([])
  const ended = reply.end()
  await settled()
  await allowAll()
  await ended
  expect(tokens).toEqual([{ route: 'default/llm', model: 'm', inputTokens: 12, outputTokens: 34 }])
})

test('counts that grow from event to event are not added up', async () => {
  const reply = open('FailClosed')
  await reply.push(
    Buffer.concat([
      event({
        type: 'message_start',
        message: {
          id: 'm1',
          type: 'message',
          role: 'assistant',
          model: 'claude',
          content: [],
          usage: { input_tokens: 12, output_tokens: 1 },
        },
      }),
      event({ type: 'message_delta', delta: {}, usage: { output_tokens: 20 } }),
      event({ type: 'message_delta', delta: {}, usage: { input_tokens: 0, output_tokens: 34 } }),
      event({ type: 'message_stop' }),
    ]),
  )
  await reply.end()
  expect(tokens).toEqual([
    { route: 'default/llm', model: 'claude', inputTokens: 12, outputTokens: 34 },
  ])
})

test('of a reply whose client disconnects, the tokens so far count', async () => {
  const reply = open('FailClosed')
  await reply.push(Buffer.concat([usage('m', 12, 1), says('hello')]))
  leaving.abort()
  leaving.abort()
  await reply.end()
  expect(tokens).toEqual([{ route: 'default/llm', model: 'm', inputTokens: 12, outputTokens: 1 }])
})

test('a stream without token counts counts none', async () => {
  const reply = open('FailClosed')
  await reply.push(says('hello'))
  const ended = reply.end()
  await settled()
  await allowAll()
  await ended
  expect(tokens).toEqual([])
})

test('a reply that ends after its route is gone brings no series of it back', () => {
  let served = true
  const guard = { key: 'default/llm/0', route: 'default/llm' }
  const { metrics } = guardrails(undefined, [], tokens)
  const deps = { metrics, isServed: (key: string) => served && key === guard.key }
  countTokens(deps, guard, { inputTokens: 1 })
  served = false
  countTokens(deps, guard, { inputTokens: 1 })
  expect(tokens).toEqual([{ route: 'default/llm', inputTokens: 1 }])
})

test('copies of audited webhooks are not counted: the reply itself is', () => {
  const { metrics } = guardrails(undefined, [], tokens)
  const guard = { key: 'default/llm/0', route: 'default/llm' }
  countTokens({ metrics, mode: 'audit' }, guard, { inputTokens: 1 })
  expect(tokens).toEqual([])
})
