// Clients that begin the body of an MCP message and never end it, on a route whose rules need all of it: without a token
// they are refused before anything is held, with one when their time is over, and honest clients are served meanwhile.

import { type ClientHttp2Session, connect } from 'node:http2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type Answer, bearer, send } from '../support/http.js'
import { jwt, protectedRoute, provider, sign } from '../support/protected-stack.js'
import { allow, gateway, mcpRoute, proxyBackend, proxyPolicy } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')
const LARGEST = 64 * 1024
/** As many streams as a connection may have. */
const CLIENTS = 100
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

let backend: Backend
let stack: Stack
let token: string

beforeAll(async () => {
  backend = await startBackend()
  token = await sign(key)
  stack = await startStack({
    flags: ['--mcp-body-bytes', '64KiB', '--body-timeout', '5s', '--access-log'],
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      ...protectedRoute('mcp', {
        jwtAuthentication: jwt([key]),
        authorization: allow('mcp.method == "ping"'),
      }),
      mcpRoute('login', 'backend', '/login'),
      proxyPolicy('login', 'login', {
        jwtAuthentication: {
          providers: [provider([key], { audiences: ['api'] })],
          mcp: { clientId: 'app' },
        },
      }),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await backend.close()
})

/** Begins as many bodies as a connection may have streams. Returns the statuses of the answers. */
function begin(session: ClientHttp2Session, headers: object): Promise<readonly number[]> {
  const statuses = Array.from({ length: CLIENTS }, async () => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/mcp',
      'content-type': 'application/json',
      'content-length': String(LARGEST),
      ...headers,
    })
    stream.on('error', () => undefined)
    stream.write(Buffer.alloc(LARGEST * 0.9, ' '))
    return new Promise<number>((resolve) =>
      stream.on('response', (fields) => resolve(Number(fields[':status']))),
    )
  })
  return Promise.all(statuses)
}

const ping = (headers: Record<string, string> = bearer(token)): Promise<Answer> =>
  send(stack.origin, '/mcp', {
    method: 'POST',
    body: PING,
    headers: { 'content-type': 'application/json', ...headers },
  })

test('without a valid token they are refused at once, and honest clients are served', async () => {
  const session = connect(stack.origin)
  const metrics = await stack.metrics()
  const statuses = begin(session, bearer(`${token}x`))
  expect((await ping()).status).toBe(200)
  expect(new Set(await statuses)).toEqual(new Set([401]))
  session.destroy()
  expect(metrics).not.toContain('malformed-token')
  // Each refusal counts once, and each request that passes does.
  expect(await stack.metrics()).toMatch(/reason="malformed-token"[^}]*\} 100$/m)
  expect(await stack.metrics()).toMatch(/reason="allowed"[^}]*\} 1$/m)
})

test('with a token they are refused when their time is over, and honest clients are served', async () => {
  const session = connect(stack.origin)
  const statuses = begin(session, bearer(token))
  await eventually(async () => {
    const held = /^gatehouse_held_bytes (\d+)$/m.exec(await stack.metrics())?.[1]
    expect(Number(held)).toBeGreaterThan(CLIENTS * LARGEST * 0.8)
  })
  expect((await ping()).status).toBe(200)
  expect(new Set(await statuses)).toEqual(new Set([408]))
  await eventually(async () => expect(await stack.metrics()).toMatch(/^gatehouse_held_bytes 0$/m))
  session.destroy()
  await eventually(() => expect(stack.output()).toContain('"reason":"body-timeout"'))
})

test('a registration that never ends is refused when its time is over', async () => {
  const session = connect(stack.origin)
  const request = session.request({
    ':method': 'POST',
    ':path': '/.well-known/oauth-authorization-server/login/client-registration',
    'content-type': 'application/json',
  })
  request.on('error', () => undefined)
  request.write('{"redirect_uris":')
  const status = await new Promise((resolve) =>
    request.on('response', (fields) => resolve(fields[':status'])),
  )
  expect(status).toBe(408)
  session.destroy()
})

test('a larger one is refused, with its reason in both logs', async () => {
  const headers = { 'content-type': 'application/json', ...bearer(token) }
  const body = 'x'.repeat(LARGEST + 1)
  expect((await send(stack.origin, '/mcp', { method: 'POST', body, headers })).status).toBe(413)
  await eventually(() => {
    expect(stack.log()).toMatch(/"reason":"body-too-large","status":413,"route":"default\/mcp"/)
  })
  await eventually(() => expect(stack.output()).toContain('"reason":"body-too-large"'))
})

test('while a whole request waits for its answer, no stream is kept for it', async () => {
  let answer = (): void => undefined
  backend.answer((_request, response) => (answer = () => response.end('late')))
  const before = backend.requests.length
  const waiting = ping()
  await eventually(() => expect(backend.requests).toHaveLength(before + 1))
  await eventually(async () =>
    expect(await stack.metrics()).toContain('gatehouse_open_streams{type="unchecked-body"} 0'),
  )
  answer()
  expect((await waiting).body).toBe('late')
})

test('a refusal has its challenge, and its reason in the access log', async () => {
  const { status, headers } = await ping({})
  expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer'])
  await eventually(() => expect(stack.output()).toContain('"reason":"no-token"'))
})
