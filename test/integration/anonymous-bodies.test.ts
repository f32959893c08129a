// Clients without a token that begin bodies and never end them: where none is required they share a part of what bodies
// may hold, so that others are served, and where one is they are refused before a body, also if rules on it are in audit.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { beginBodies } from '../support/begun-bodies.js'
import { bearer, send } from '../support/http.js'
import { jwt, protectedRoute, sign } from '../support/protected-stack.js'
import { allow, gateway, inAudit, proxyBackend, proxyPolicy } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')
const LARGEST = 64 * 1024
const CLIENTS = 100
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
const RULES = allow('mcp.method == "ping"')

let backend: Backend
let stack: Stack
let token: string

beforeAll(async () => {
  backend = await startBackend()
  token = await sign(key)
  stack = await startStack({
    // All of the bodies have room in it, but not in a quarter of it.
    flags: ['--mcp-body-bytes', '64KiB', '--held-bytes', '7MiB', '--max-body-bytes', '1MiB'],
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      ...protectedRoute('open', { authorization: RULES }),
      ...protectedRoute('closed', { jwtAuthentication: jwt([key]), authorization: RULES }),
      ...protectedRoute('audited', { jwtAuthentication: jwt([key]) }),
      inAudit(proxyPolicy('audit', 'audited', { authorization: RULES })),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await backend.close()
})

/** As many bodies as a connection may have streams. */
const begin = (path: string, answered: (status: number) => void): (() => void) =>
  beginBodies(stack.origin, { path, count: CLIENTS, bytes: LARGEST }, answered)

async function post(path: string, headers: Record<string, string> = {}): Promise<number> {
  const all = { 'content-type': 'application/json', ...headers }
  return (await send(stack.origin, path, { method: 'POST', body: PING, headers: all })).status
}

test('bodies of a route without tokens have a part of the room, and other routes the rest', async () => {
  const statuses: number[] = []
  const leave = begin('/open', (status) => statuses.push(status))
  await eventually(() => expect(statuses.length).toBeGreaterThan(CLIENTS / 2))
  expect(new Set(statuses)).toEqual(new Set([503]))
  expect(await post('/closed', bearer(token))).toBe(200)
  expect(await stack.metrics()).toMatch(
    /^gatehouse_budget_reached_total\{budget="held-bytes"\} [1-9]/m,
  )
  leave()
  await eventually(async () => expect(await post('/open')).toBe(200))
})

test('rules in audit: a client without a token is refused before its body', async () => {
  const statuses: number[] = []
  const leave = begin('/audited', (status) => statuses.push(status))
  await eventually(() => expect(statuses).toHaveLength(CLIENTS))
  expect(new Set(statuses)).toEqual(new Set([401]))
  leave()
  expect(await post('/audited', bearer(token))).toBe(200)
})
