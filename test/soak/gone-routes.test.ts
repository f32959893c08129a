// The metrics of a route are removed after the route is gone, in every process that counted.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack([], { flags: ['--workers', '3'] })
  stack.reset()
})
afterAll(() => stack.close())

/** Routes that have series. */
const counted = async (): Promise<readonly string[]> =>
  [...new Set((await stack.metrics()).match(/\broute="[^"]+"/g))].toSorted()

test('a minute after it is gone', async () => {
  await stack.write('more.yaml', ...guardedRoute('/more', both(hook('guard'))))
  const usage = { prompt_tokens: 10, completion_tokens: 3 }
  stack.llm.answer(answerJson({ ...completion('hello'), usage }))
  const ask = (path: string) => stack.post(path, chat('hi'), { connection: 'close' })
  await eventually(async () => expect((await ask('/more')).status).toBe(200))
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => ask(index % 2 === 0 ? '/both' : '/more')),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  expect(await counted()).toEqual(['route="default/both"', 'route="default/more"'])
  await stack.remove('more.yaml')
  await eventually(async () => expect(await counted()).toEqual(['route="default/both"']), 120_000)
  const [input] = (await stack.metrics()).match(/^gatehouse_llm_tokens_total.*input.*$/m) ?? []
  expect(input).toMatch(/route="default\/both".* 100$/)
})
