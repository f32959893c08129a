// What test/integration/guardrail-load and guardrail-long-streams show, at full size.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type GuardedStack, startGuardedStack } from '../support/guardrails.js'
import { expectWholeStreams } from '../support/long-streams.js'
import { documentRoute, requestChats, requestDocuments } from '../support/short-requests.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack(await documentRoute())
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const COUNT = 20_000

test('20,000 guarded chats at 40 connections: each is answered', async () => {
  expect(await requestChats(stack, COUNT)).toEqual({ 200: COUNT })
}, 600_000)

test('20,000 documents at 40 connections: each is answered', async () => {
  expect(await requestDocuments(stack, COUNT)).toEqual({ 200: COUNT })
}, 600_000)

test.each([1, 2])(
  'round %i: streams of 35, 52, 60 and 75 s come whole from one Envoy',
  async () => {
    await expectWholeStreams(stack)
  },
  180_000,
)
