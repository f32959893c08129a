// Clients that give up their requests, thousands of them: Envoy resets the check of each, and honest requests do not notice.

import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bearer, send } from '../support/http.js'
import type { ProtectedStack } from '../support/protected-stack.js'
import { jwt, protectedRoute, sign, startProtectedStack } from '../support/protected-stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('k1')

let stack: ProtectedStack

beforeAll(async () => {
  stack = await startProtectedStack(protectedRoute('api', { jwtAuthentication: jwt([key]) }))
})
afterAll(() => stack.close())

/** Of the cluster that Envoy asks about requests. */
async function counter(name: string): Promise<number> {
  const path = `/stats?filter=^cluster.gatehouse_ext_authz.${name}$`
  return Number((await (await fetch(stack.envoyAdmin + path)).text()).split(': ')[1])
}

/** Envoy ends a client's connection for 500 early resets: so few in each. */
const RESETS_EACH = 300

async function giveUpMany(authorization: string): Promise<void> {
  const session: ClientHttp2Session = connect(stack.origin)
  session.on('error', () => {})
  for (let sent = 0; sent < RESETS_EACH && !session.closed; sent++) {
    const stream = session.request({ ':path': '/api', authorization })
    stream.on('error', () => {})
    // Envoy has to see the request before its end.
    await new Promise((resolve) => setImmediate(resolve))
    stream.close(constants.NGHTTP2_CANCEL)
  }
  session.destroy()
}

test('2,000 checks that Envoy resets end no connection to Gatehouse', async () => {
  const token = await sign(key)
  expect(await stack.statusOf('api', token)).toBe(200)
  const destroyed = await counter('upstream_cx_destroy')
  while ((await counter('http2.tx_reset')) < 2_000)
    await Promise.all(
      Array.from({ length: 8 }, () => giveUpMany(bearer(token).authorization ?? '')),
    )
  // Requests that were reset may still be on their way to the backend: this one's answer alone counts.
  const { status } = await send(stack.origin, '/api', { headers: bearer(token) })
  expect(status).toBe(200)
  expect(await counter('upstream_cx_destroy')).toBe(destroyed)
}, 120_000)
