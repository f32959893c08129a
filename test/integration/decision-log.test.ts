// Who was denied and why: the id in the client's response, and the log line with the same id.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import {
  chat,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { type Answer, bearer, send } from '../support/http.js'
import { ISSUER, protectedRoute, provider, sign } from '../support/protected-stack.js'
import { allow, mcpRoute, proxyBackend, proxyPolicy } from '../support/resources.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
const TRACE = 'a'.repeat(32)

let backend: Backend
const stacks = new Map<number, GuardedStack>()

const jwtAuthentication = { providers: [provider([key], { audiences: ['api'] })] }
const resources = (): readonly object[] => [
  proxyBackend('backend', backend),
  ...protectedRoute('api', {
    jwtAuthentication,
    authorization: allow('jwt.role == "admin"', 'jwt.role == "root"'),
  }),
  ...protectedRoute('denied', {
    jwtAuthentication,
    authorization: {
      action: 'Deny',
      policy: { matchExpressions: ['request.method == "PUT"', 'jwt.role == "guest"'] },
    },
  }),
  mcpRoute('mcp', 'backend'),
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: { ...jwtAuthentication, mcp: { clientId: 'app' } },
  }),
  ...guardedRoute('/guarded', { request: [hook('guard')] }),
  ...protectedRoute('tools', {
    authorization: { action: 'Deny', policy: { matchExpressions: ['mcp.tool.name != "ls"'] } },
  }),
  ...protectedRoute('closed', { authorization: allow('no expression') }),
]

beforeAll(async () => {
  backend = await startBackend()
  for (const workers of [1, 2])
    stacks.set(
      workers,
      await startGuardedStack(resources(), {
        flags: ['--workers', String(workers), '--log-claims', 'role', '--access-log'],
      }),
    )
})
afterAll(async () => {
  await Promise.all([...stacks.values()].map((stack) => stack.close()))
  await backend.close()
})
beforeEach(() => {
  for (const stack of stacks.values()) stack.reset()
})

function idOf({ headers }: Answer): string {
  expect(headers['x-request-id']).toMatch(UUID)
  return String(headers['x-request-id'])
}

/** The one line of the log that names the request that was answered so. */
async function lineOf(stack: GuardedStack, answer: Answer): Promise<Record<string, unknown>> {
  const id = idOf(answer)
  return eventually(() => {
    const found = stack
      .log()
      .split('\n')
      .filter((line) => line.includes(id))
    expect(found, stack.log()).toHaveLength(1)
    return JSON.parse(found[0] ?? '') as Record<string, unknown>
  })
}

/** FILE:LINE of the last line of the resources that matches. */
function placeOf({ folder }: GuardedStack, pattern: RegExp): string {
  const file = join(folder, 'resources.yaml')
  const lines = readFileSync(file, 'utf8').split('\n')
  return `${file}:${String(lines.findLastIndex((line) => pattern.test(line)) + 1)}`
}

async function call(stack: GuardedStack, path: string, claims?: object): Promise<Answer> {
  const traceparent = `00-${TRACE}-${'b'.repeat(16)}-01`
  const token = claims && bearer(await sign(key, claims))
  return send(stack.origin, path, { headers: { ...token, traceparent } })
}

test.each([1, 2])('%i processes: each refusal has a line with its request id', async (workers) => {
  const stack = stacks.get(workers) as GuardedStack
  const untold = await call(stack, '/api/x?secret=1')
  expect(untold.status).toBe(401)
  const line = await lineOf(stack, untold)
  expect(line).toMatchObject({
    level: 'info',
    msg: 'decision',
    decision: 'deny',
    reason: 'no-token',
    status: 401,
    route: 'default/api',
    policy: 'default/api-0',
    traceId: TRACE,
    method: 'GET',
    path: '/api/x',
    host: new URL(stack.origin).host,
  })
  expect(line['source']).toMatch(/resources\.yaml:\d+$/)

  expect(await lineOf(stack, await call(stack, '/api', { aud: 'web' }))).toMatchObject({
    reason: 'wrong-audience',
    expected: { aud: ['api'] },
    got: { aud: 'web' },
    iss: ISSUER,
    verified: false,
  })

  const denied = await call(stack, '/denied', { aud: 'api', role: 'guest', sub: 'grace' })
  expect(denied.status).toBe(403)
  expect(await lineOf(stack, denied)).toMatchObject({
    reason: 'denied-by-rule',
    policy: 'default/denied-0',
    rule: 'matchExpressions[1]',
    sub: 'grace',
    verified: true,
    claims: { role: 'guest' },
    ruleSource: placeOf(stack, /^ +- jwt.role == "guest"$/),
  })

  const rejected = await stack.post('/guarded', chat('block this'))
  expect(rejected.status).toBe(403)
  expect(await lineOf(stack, rejected)).toMatchObject({
    msg: 'guardrail verdict',
    decision: 'deny',
    outcome: 'reject',
    phase: 'request',
    route: 'default/guarded',
    policy: 'default/guarded',
    rule: 'promptGuard.request[0]',
    ruleSource: placeOf(stack, /^ +- webhook:$/),
    method: 'POST',
    path: '/guarded/v1/chat/completions',
  })
  const unread = await stack.post('/guarded', '{"messages":')
  expect(unread.status).toBe(400)
  expect(await lineOf(stack, unread)).toMatchObject({
    msg: 'guardrail refusal',
    decision: 'deny',
    reason: 'guardrail_unreadable',
    status: 400,
    route: 'default/guarded',
    policy: 'default/guarded',
    phase: 'request',
    method: 'POST',
    path: '/guarded/v1/chat/completions',
  })
  const masked = await stack.post('/guarded', chat('a secret'))
  expect(masked.status).toBe(200)
  expect(await lineOf(stack, masked)).toMatchObject({ decision: 'change', outcome: 'modify' })
})

test('a route that an invalid policy closes: each request has a line', async () => {
  const stack = stacks.get(1) as GuardedStack
  const closed = await call(stack, '/closed/x?secret=1')
  expect(closed.status).toBe(500)
  const line = await lineOf(stack, closed)
  expect(line).toMatchObject({
    msg: 'decision',
    decision: 'deny',
    reason: 'broken-policy',
    status: 500,
    route: 'default/closed',
    policy: 'default/closed-0',
    traceId: TRACE,
    method: 'GET',
    path: '/closed/x',
    host: new URL(stack.origin).host,
  })
  expect(line['source']).toMatch(/resources\.yaml:\d+$/)
})

test('a call of MCP that is denied: its line has the method and the tool, escaped', async () => {
  const stack = stacks.get(1) as GuardedStack
  const name = 'rm\u001b[2J'
  const denied = await send(stack.origin, '/tools', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
  })
  expect(denied.status).toBe(403)
  expect(await lineOf(stack, denied)).toMatchObject({
    reason: 'denied-by-rule',
    mcpMethod: 'tools/call',
    tool: 'rm\\u001b[2J',
    method: 'POST',
  })
})

test('a refusal of an OAuth document has a line', async () => {
  const stack = stacks.get(1) as GuardedStack
  const refused = await send(stack.origin, '/.well-known/oauth-protected-resource/mcp', {
    method: 'PUT',
  })
  expect(refused.status).toBe(405)
  expect(await lineOf(stack, refused)).toMatchObject({
    msg: 'login answer',
    decision: 'deny',
    reason: 'metadata_method',
    status: 405,
    route: 'default/mcp',
    policy: 'default/mcp',
    endpoint: 'resource-metadata',
  })
})

test('what is let in, and a document, have an id too, and no line', async () => {
  const stack = stacks.get(1) as GuardedStack
  const passed = await send(stack.origin, '/api', {
    headers: {
      ...bearer(await sign(key, { aud: 'api', role: 'admin' })),
      'x-request-id': 'chosen-by-the-client',
    },
  })
  const document = await send(stack.origin, '/.well-known/oauth-protected-resource/mcp')
  expect([passed.status, document.status]).toEqual([200, 200])
  // The line of a refusal comes after whatever these would leave.
  await lineOf(stack, await call(stack, '/denied'))
  for (const answer of [passed, document]) expect(stack.log()).not.toContain(idOf(answer))
  expect(backend.requests.at(-1)?.headers['x-request-id']).toBe(idOf(passed))
})

test('the access log has the reason of a refusal, and the same id', async () => {
  const stack = stacks.get(1) as GuardedStack
  const accessLine = (answer: Answer): Promise<unknown> =>
    eventually(() => {
      const line = stack
        .output()
        .split('\n')
        .find((each) => each.includes(idOf(answer)))
      return JSON.parse(line ?? '') as unknown
    }, 30_000)
  const refused = await send(stack.origin, '/api?secret=1')
  expect(await accessLine(refused)).toMatchObject({
    status: 401,
    reason: 'no-token',
    details: 'ext_authz_denied',
    path: '/api',
  })
  const passed = await send(stack.origin, '/api', {
    headers: bearer(await sign(key, { aud: 'api', role: 'admin' })),
  })
  expect(await accessLine(passed)).toMatchObject({ status: 200, reason: null })
})

test('a flood of refusals is summed up', async () => {
  const stack = stacks.get(1) as GuardedStack
  const lines = (): number =>
    stack
      .log()
      .split('\n')
      .filter((line) => line.includes('/mcp/flood')).length
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => send(stack.origin, '/mcp/flood')),
  )
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
  await eventually(() => expect(lines()).toBeGreaterThan(0))
  expect(lines()).toBeLessThan(20)
})
