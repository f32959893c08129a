// Many guarded requests over shared connections, over each transport to Gatehouse: Envoy resets the ext_proc stream of each
// when it is done, and a server that closed connections for that would answer other requests on them with 503. And guarded
// streams of up to 75 s: each arrives complete, and Envoy does not restart.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { chat, type GuardedStack, startGuardedStack } from '../support/guardrails.js'
import { send } from '../support/http.js'
import { expectWholeStreams } from '../support/long-streams.js'
import { type ServedStack, startServed } from '../support/served-stack.js'
import { requestChats, requestDocuments } from '../support/short-requests.js'

const COUNT = 20_000

describe.each(['plain TCP', 'TLS', 'a Unix socket'] as const)('over %s', (transport) => {
  let stack: ServedStack

  beforeAll(async () => {
    stack = await startServed(transport)
    await stack.startEnvoy()
    const url = '/both/v1/chat/completions'
    const request = { method: 'POST', body: chat('hello') }
    await eventually(async () => {
      expect((await send(stack.origin, url, request)).status).toBe(200)
    })
  })
  afterAll(() => stack.close())

  test('20,000 guarded chats at 40 connections: each is answered', async () => {
    expect(await requestChats(stack, COUNT)).toEqual({ 200: COUNT })
  }, 600_000)

  test('20,000 documents at 40 connections: each is answered', async () => {
    expect(await requestDocuments(stack, COUNT)).toEqual({ 200: COUNT })
  }, 600_000)
})

describe('long streams', () => {
  let stack: GuardedStack

  beforeAll(async () => {
    stack = await startGuardedStack()
  })
  afterAll(() => stack.close())
  beforeEach(() => stack.reset())

  test.each([1, 2])(
    'round %i: of 35, 52, 60 and 75 s come whole from one Envoy',
    async () => {
      await expectWholeStreams(stack)
    },
    180_000,
  )
})
