// All calls with the same credentials share one agent.

import { Agent as HttpAgent } from 'node:http'
import { Agent } from 'node:https'
import { expect, test } from 'vitest'
import { createKeptAgent } from '../../../src/resources/kubernetes/agent.js'

const made = (ca: string, key?: string) =>
  new Agent({ ca: Buffer.from(ca), ...(key !== undefined && { key }) })

test('calls with the same credentials share an agent that keeps its connections', () => {
  const agent = createKeptAgent()
  const first = agent.instead(made('ca', 'key'))
  expect(first).toMatchObject({ keepAlive: true, options: { key: 'key' } })
  expect(agent.instead(made('ca', 'key'))).toBe(first)
})

test.each([
  ['another authority', made('other', 'key')],
  ['another key', made('ca', 'other')],
  ['none', made('ca')],
])('%s: another agent', (_what, other) => {
  const agent = createKeptAgent()
  const first = agent.instead(made('ca', 'key'))
  const second = agent.instead(other)
  expect(second).not.toBe(first)
  expect(agent.instead(other)).toBe(second)
})

test('what is no plain TLS agent is left as it is: a proxy, or none', () => {
  class Proxy extends Agent {}
  const proxy = new Proxy()
  const plain = new HttpAgent()
  const agent = createKeptAgent()
  expect([proxy, plain, undefined].map((one) => agent.instead(one))).toEqual([
    proxy,
    plain,
    undefined,
  ])
})
