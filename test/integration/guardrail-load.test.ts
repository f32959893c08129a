// Many guarded requests, one after the other: none of them harms the connection that they share.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.js'
import { chat, startGuardedStack, type GuardedStack } from '../support/guardrails.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack()
})
afterAll(() => stack.close())

/** Of the cluster that Envoy asks about guarded requests. */
async function counter(name: string): Promise<number> {
  const cluster = 'cluster.gatehouse_ext_proc.'
  const answer = await fetch(`${stack.envoyAdmin}/stats?filter=^${cluster}${name}$`)
  return Number((await answer.text()).split(': ')[1])
}

// Node ends a connection on which a thousand streams were reset, and a few more for each second.
test('Envoy resets no stream of a request that has been answered', async () => {
  stack.reset()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => stack.post('/both', chat('hello'))),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
  await eventually(async () => expect(await counter('upstream_rq_active')).toBe(0))
  expect(await counter('upstream_rq_completed')).toBe(20)
  expect(await counter('http2.tx_reset')).toBe(0)
})
