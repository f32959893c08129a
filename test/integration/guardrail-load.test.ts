// Many guarded requests over shared connections. Envoy resets the ext_proc stream of each when it is done; a server
// that closed connections for that would answer other requests on them with 503.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type GuardedStack, startGuardedStack } from '../support/guardrails.js'
import { documentRoute, requestChats, requestDocuments } from '../support/short-requests.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack(await documentRoute())
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const COUNT = 3_000

test('3,000 guarded chats at 40 connections: each is answered', async () => {
  expect(await requestChats(stack, COUNT)).toEqual({ 200: COUNT })
})

test('3,000 documents at 40 connections: each is answered', async () => {
  expect(await requestDocuments(stack, COUNT)).toEqual({ 200: COUNT })
})
