// No token, cookie, query, claim, prompt, reply or tool argument appears in what Gatehouse and its Envoy tell an operator:
// the logs, the spans and logs of a collector, the metrics, the status, and explanations.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { descriptionText } from '../../src/ops/explain/read-description.js'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import {
  both,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'
import { send } from '../support/http.js'
import { guardedMcp, toolCall } from '../support/mcp-guards.js'
import { protectedRoute, provider, sign } from '../support/protected-stack.js'
import { allow, mcpRoute, proxyBackend, proxyPolicy } from '../support/resources.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')
const stranger = await newKey('one')
const hidden = 'claim-zanzibar-7741'
const good = await sign(key, { aud: 'api', role: 'admin', hidden })
const tokens = {
  good,
  denied: await sign(key, { aud: 'api', role: 'guest', hidden }),
  forged: await sign(stranger, { aud: 'api', hidden }),
  foreign: await sign(key, { aud: 'web', hidden, nested: { hidden: [hidden] } }),
  expired: await sign(key, { aud: 'api', exp: 1, hidden }),
  cut: good.slice(0, -9),
  long: `${good}${'A'.repeat(3000)}`,
  opaque: 'opaque-credential-48151623',
}
const QUERY = 'query-secret-90125'
const COOKIE = 'cookie-secret-55113'
const PROMPT = 'prompt-secret-31337'
const REPLY = 'reply-secret-27182'
const ARGUMENT = 'argument-secret-16180'
const PASSWORD = 'password-secret-12358'

/** What nothing may show; of a token, each part. */
const SECRETS = [
  ...Object.values(tokens).flatMap((token) => token.split('.')),
  QUERY,
  COOKIE,
  PROMPT,
  REPLY,
  ARGUMENT,
  PASSWORD,
  hidden,
].filter((text) => text.length > 12)

let server: Backend
let collector: Backend
let stack: GuardedStack

beforeAll(async () => {
  ;[server, collector] = await Promise.all([startBackend('server'), startBackend('collector')])
  collector.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const jwtAuthentication = { providers: [provider([key], { audiences: ['api'] })] }
  const rules = allow('jwt.role == "admin"')
  stack = await startGuardedStack(
    [
      proxyBackend('server', server),
      ...protectedRoute('api', { jwtAuthentication, authorization: rules }),
      ...protectedRoute('closed', { authorization: allow('no expression') }),
      ...protectedRoute('optional', {
        jwtAuthentication: { ...jwtAuthentication, mode: 'Permissive' },
        authorization: allow('jwt.role == "admin" && request.headers["x-team"] == "blue"'),
      }),
      mcpRoute('mcp', 'server'),
      proxyPolicy('mcp', 'mcp', {
        jwtAuthentication: {
          ...jwtAuthentication,
          mcp: { clientId: 'app', filterLists: true, challengeDetails: true },
        },
        authorization: {
          action: 'Deny',
          policy: {
            matchExpressions: ['mcp.tool.name == "rm"'],
          },
        },
      }),
      ...guardedRoute('/guarded', both(hook('guard'))),
      ...guardedMcp('/tools', 'server', { request: [hook('guard')], response: [hook('guard')] }),
    ],
    {
      flags: [
        '--access-log',
        '--decision-log',
        'all',
        '--log-claims',
        'role',
        '--log-level',
        'debug',
        '--otlp',
        `http://127.0.0.1:${String(collector.port)}`,
      ],
      environment: { OTEL_BSP_SCHEDULE_DELAY: '50', OTEL_BLRP_SCHEDULE_DELAY: '50' },
    },
  )
  stack.reset()
  stack.llm.answer((_request, response) => {
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(completion(`${REPLY} secret`)))
  })
  server.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end(REPLY)
  })
})
afterAll(async () => {
  await stack.close()
  await Promise.all([server.close(), collector.close()])
})

interface Sent {
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const basic = `Basic ${Buffer.from(`user:${PASSWORD}`).toString('base64')}`
const rpc = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message })
const call = (name: string, text: string): string => rpc(toolCall(1, name, { text }))

/** Requests that anybody may send. */
const requests: readonly Sent[] = [
  ...['/api', '/optional', '/closed', '/mcp', '/guarded/v1/chat/completions'].flatMap((path) =>
    Object.values(tokens).map((token) => ({
      path: `${path}?access_token=${QUERY}`,
      headers: { authorization: `Bearer ${token}`, cookie: `session=${COOKIE}`, 'x-team': 'green' },
    })),
  ),
  { path: '/api', headers: { authorization: basic } },
  { path: '/api', headers: { authorization: `bearer  ${good} ${good}` } },
  { path: '/api', headers: { authorization: `DPoP ${good}` } },
  { path: '/api', headers: { authorization: good } },
  { path: `/api?x=${good}`, headers: { cookie: `a=${good}` } },
  { path: '/api', headers: { 'proxy-authorization': `Bearer ${good}` } },
  { path: '/api', headers: { 'x-request-id': good, traceparent: good, tracestate: `a=${good}` } },
  {
    path: '/api',
    headers: { origin: `https://${COOKIE}.example`, referer: `https://a/?${QUERY}` },
  },
  { path: '/api', headers: { baggage: `token=${good}`, b3: good } },
  { path: `/.well-known/oauth-protected-resource/mcp?${QUERY}`, method: 'PUT', body: PROMPT },
  {
    path: `/.well-known/oauth-authorization-server/mcp/client-registration?${QUERY}`,
    method: 'POST',
    headers: json,
    body: `{"redirect_uris":["https://${COOKIE}.example/${QUERY}"]`,
  },
  ...[
    chat(`${PROMPT} block`),
    chat(`${PROMPT} secret`),
    chat(PROMPT, { tools: [{ type: 'function', function: { name: 'x', description: ARGUMENT } }] }),
    `{"messages":"${PROMPT}`,
    `{"messages":[{"role":"user","content":"${PROMPT}","${ARGUMENT}":{"a":[`,
    `{"${PROMPT}":1}`,
    `{"messages":[],"messages":["${PROMPT}"]}`,
    `${PROMPT}\u0000`,
  ].map((body) => ({ path: '/guarded/v1/chat/completions', method: 'POST', headers: json, body })),
  {
    path: '/guarded/v1/chat/completions',
    method: 'POST',
    headers: { 'content-type': PROMPT },
    body: PROMPT,
  },
  ...['/mcp', '/tools'].flatMap((path) =>
    [
      call('rm', ARGUMENT),
      call('ls', ARGUMENT.repeat(20)),
      call('ls', `block ${ARGUMENT}`),
      rpc({ id: ARGUMENT, method: 'tools/list', params: { cursor: ARGUMENT } }),
      rpc({ id: 1, method: 'x', params: ARGUMENT }),
      `{"jsonrpc":"2.0","id":"${ARGUMENT}`,
      rpc({ id: [ARGUMENT], method: 'tools/call' }),
      `[${call('ls', ARGUMENT)},{"${ARGUMENT}":1}]`,
    ].map((body) => ({
      path,
      method: 'POST',
      body,
      headers: { ...json, authorization: `Bearer ${good}`, 'mcp-session-id': COOKIE },
    })),
  ),
]

/** Explains a request as the running Gatehouse does. */
async function explained({ path, method = 'GET', headers = {}, body }: Sent): Promise<string> {
  const answer = await fetch(`${stack.admin}/explain`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: descriptionText({
      request: `${method} ${stack.origin}${path}`,
      headers: Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(body !== undefined && { body: Buffer.from(body) }),
    }),
  })
  expect(answer.status).toBe(200)
  return answer.text()
}

const adminText = async (path: string, init?: Parameters<typeof fetch>[1]): Promise<string> =>
  (await fetch(`${stack.admin}${path}`, init)).text()

test('nothing shows a secret of a request', async () => {
  const statuses = new Set<number>()
  let last = ''
  for (const { path, ...rest } of requests) {
    const { status, headers } = await send(stack.origin, path, rest)
    statuses.add(status)
    last = String(headers['x-request-id'])
  }
  for (const status of [200, 400, 401, 403, 405, 500, 502]) expect(statuses).toContain(status)
  await eventually(() => {
    expect(stack.output()).toContain(last)
  }, 30_000)
  await eventually(() => {
    const urls = collector.requests.map(({ url }) => url)
    expect(urls).toEqual(expect.arrayContaining(['/v1/traces', '/v1/logs']))
    expect(collector.requests.some(({ body }) => body.includes(last))).toBe(true)
  })
  const explanations: string[] = []
  for (const request of requests) explanations.push(await explained(request))
  const sinks = {
    explanations: explanations.join('\n'),
    log: stack.log(),
    'access log': stack.output(),
    collector: collector.requests.map(({ body }) => body).join('\n'),
    metrics: await stack.metrics(),
    status: await adminText('/status'),
    page: await adminText('/'),
    configuration: await adminText('/config_dump'),
  }
  for (const [name, text] of Object.entries(sinks)) expect(text.length, name).toBeGreaterThan(100)
  const leaks = Object.entries(sinks).flatMap(([name, text]) =>
    SECRETS.filter((secret) => text.includes(secret)).map((secret) => `${name}: ${secret}`),
  )
  expect(leaks).toEqual([])
})
