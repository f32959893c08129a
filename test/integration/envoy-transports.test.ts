// An Envoy that reaches Gatehouse over a Unix socket, plain TCP, TLS and mutual TLS: configuration, checks, guards and
// documents over each.

import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { bearer, send } from '../support/http.js'
import { sign } from '../support/protected-stack.js'
import { startServed } from '../support/served-stack.js'
import { requestChats, requestDocuments } from '../support/short-requests.js'

test.each(['a Unix socket', 'plain TCP', 'TLS', 'mutual TLS'] as const)('%s', async (name) => {
  const stack = await startServed(name)
  onTestFinished(() => stack.close())
  await stack.startEnvoy()
  const { origin } = stack
  const headers = bearer(await sign(stack.key))
  await eventually(async () => expect((await send(origin, '/api', { headers })).status).toBe(200))
  expect((await send(origin, '/api')).status).toBe(401)
  expect(await requestChats(stack, 400)).toEqual({ 200: 400 })
  expect(await requestDocuments(stack, 1_500)).toEqual({ 200: 1_500 })
})
