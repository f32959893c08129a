// Envoy's access log (--access-log) has Gatehouse's reason for each refusal, whichever filter refuses.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import {
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { type Answer, bearer, send } from '../support/http.js'
import { events } from '../support/mcp-guards.js'
import { protectedRoute, provider, sign } from '../support/protected-stack.js'
import {
  allow,
  httpRoute,
  inAudit,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
} from '../support/resources.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')
const providers = [provider([key], { audiences: ['api'] })]
const deny = (rule: string): object => ({
  action: 'Deny',
  policy: { matchExpressions: [rule] },
})

const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

let server: Backend
let stack: GuardedStack

beforeAll(async () => {
  server = await startBackend('server')
  stack = await startGuardedStack(
    [
      proxyBackend('server', server),
      proxyBackend('backend', server),
      ...protectedRoute('api', { jwtAuthentication: { providers } }),
      ...protectedRoute('closed', { authorization: allow('no expression') }),
      httpRoute('nowhere', {
        rules: [rule('/nowhere', 'server', { filters: [{ type: 'ExtensionRef' }] })],
      }),
      mcpRoute('mcp', 'server'),
      proxyPolicy('mcp', 'mcp', {
        jwtAuthentication: { providers, mcp: { clientId: 'app', filterLists: true } },
        authorization: deny('mcp.tool.name == "rm"'),
      }),
      httpRoute('audited', { rules: [rule('/audited', 'server')] }),
      inAudit(proxyPolicy('audited-0', 'audited', { jwtAuthentication: { providers } })),
      ...protectedRoute('pair', { jwtAuthentication: { providers } }),
      inAudit(proxyPolicy('stricter', 'pair', { authorization: allow('jwt.role == "admin"') })),
      ...guardedRoute('/asked', { request: [hook('guard')] }),
      ...guardedRoute('/answered', { response: [hook('guard')] }),
    ],
    { flags: ['--access-log'] },
  )
  stack.reset()
})
afterAll(async () => {
  await stack.close()
  await server.close()
})

const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

async function list(): Promise<Answer> {
  server.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end('no list')
  })
  return send(stack.origin, '/mcp', {
    method: 'POST',
    headers: {
      ...bearer(await sign(key, { aud: 'api' })),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: LIST,
  })
}

function answered(body: string, more: object = {}): Promise<Answer> {
  stack.llm.answer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(completion(body, more)))
  })
  return stack.post('/answered', chat('hi'))
}

/** A reply whose rejected text arrives after others have left. */
function streamed(): Promise<Answer> {
  const event = (content: string): string =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`
  const lines = Array.from({ length: 400 }, (_, at) => event(`line ${String(at)} of a reply\n`))
  stack.llm.answer(events(...lines, event('block this'), 'data: [DONE]\n\n'))
  return stack.post('/answered', chat('hi', { stream: true }))
}

test('has the reason of each refusal', async () => {
  const cases: readonly (readonly [Answer, object])[] = [
    [
      await send(stack.origin, '/api', { headers: { traceparent: TRACEPARENT } }),
      { status: 401, reason: 'no-token', trace_parent: TRACEPARENT },
    ],
    [await send(stack.origin, '/closed'), { status: 500, reason: 'broken-policy' }],
    [
      await send(stack.origin, '/nowhere'),
      { status: 500, reason: null, refused: 'This route is not valid.' },
    ],
    [
      await send(stack.origin, '/.well-known/oauth-protected-resource/mcp', { method: 'PUT' }),
      { status: 405, reason: 'metadata_method' },
    ],
    [await list(), { status: 502, reason: 'unreadable_list' }],
    [await stack.post('/asked', chat('block this')), { status: 403, reason: 'content_filter' }],
    [await stack.post('/asked', '{"messages":'), { status: 400, reason: 'guardrail_unreadable' }],
    [await answered('block this'), { status: 403, reason: 'content_filter' }],
    [await streamed(), { status: 200, reason: 'content_filter' }],
    [await send(stack.origin, '/audited'), { status: 200, reason: null, audit_reason: 'no-token' }],
    [
      await send(stack.origin, '/pair', { headers: bearer(await sign(key, { aud: 'api' })) }),
      { status: 200, reason: null, audit_reason: 'no-rule-allows' },
    ],
    [
      await send(stack.origin, '/pair', {
        headers: bearer(await sign(key, { aud: 'api', role: 'admin' })),
      }),
      { status: 200, reason: null, audit_reason: null },
    ],
    [await answered('hello'), { status: 200, reason: null, refused: null }],
    [
      await send(stack.origin, '/.well-known/oauth-protected-resource/mcp'),
      { status: 200, reason: null },
    ],
  ]
  const expected = cases.map(([{ headers }, line]) => [headers['x-request-id'], line] as const)
  await eventually(() => {
    const lines = new Map(
      stack
        .output()
        .split('\n')
        .filter((line) => line.includes('request_id'))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .map((line) => [line['request_id'], line]),
    )
    expect(expected.map(([id]) => lines.get(id))).toMatchObject(expected.map(([, line]) => line))
  }, 30_000)
})
