// The span of a check: its parent, its attributes, and the values that it must never contain.

import { expect, test } from 'vitest'
import type { CheckCall } from '../../src/extauthz/check-context.js'
import type { AuthzEntry } from '../../src/model/authz-entry.js'
import { type RecordedSpan, recordingTracer } from '../support/recorded-spans.js'
import {
  available,
  bearer,
  checker,
  entry,
  FREE_CALL,
  jwt,
  sign,
  signingKey,
  type TestAnswer,
  type TestRequest,
  UNAVAILABLE,
} from './helpers.js'

const key = await signingKey()
const guarded = jwt(available(key.jwk))
const policy = { policy: 'default/login', source: 'policies.yaml:7' }
const OF_ENVOY = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const OF_THE_CLIENT = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`

async function traced(
  rest: Partial<AuthzEntry>,
  request: TestRequest | Buffer,
  call: CheckCall = FREE_CALL,
): Promise<{ readonly span: RecordedSpan | undefined; readonly answer: TestAnswer }> {
  const tracer = recordingTracer()
  const { check } = checker([entry({ policy, ...rest })], { tracer })
  const answer = await check(request, call)
  expect(tracer.spans.length).toBeLessThan(2)
  return { span: tracer.spans[0], answer }
}

const fromEnvoy: CheckCall = {
  ...FREE_CALL,
  metadata: (name) => (name === 'traceparent' ? [OF_ENVOY] : []),
}

test('a denied check belongs to the span of Envoy, and has no credentials and no query', async () => {
  const { span } = await traced(
    { jwt: guarded },
    {
      path: '/mcp/hidden-token?code=hidden',
      headers: [
        ['authorization', 'Bearer hidden-token'],
        ['traceparent', OF_THE_CLIENT],
        ['x-request-id', 'id-1'],
      ],
    },
    fromEnvoy,
  )
  expect(span).toMatchObject({
    name: 'gatehouse.check',
    kind: 'server',
    parent: OF_ENVOY,
    startedAt: expect.any(Number) as number,
    end: { error: undefined },
  })
  expect(span?.attributes).toMatchObject({
    'gatehouse.decision': 'deny',
    'gatehouse.reason': 'malformed-token',
    'gatehouse.route': 'default/mcp',
    'gatehouse.policy': 'default/login',
    'gatehouse.request_id': 'id-1',
    'http.response.status_code': 401,
    'url.path': '/mcp/[token]',
  })
  expect(JSON.stringify(span)).not.toContain('hidden')
})

test('a check that Envoy does not trace belongs to the span of the client', async () => {
  const { span } = await traced({ jwt: guarded }, { headers: [['traceparent', OF_THE_CLIENT]] })
  expect(span?.parent).toBe(OF_THE_CLIENT)
})

test.each<[string, CheckCall, string | undefined]>([
  ['Envoy’s', fromEnvoy, undefined],
  [
    'Envoy’s, with its state',
    {
      ...FREE_CALL,
      metadata: (name) =>
        name === 'traceparent' ? [OF_ENVOY] : name === 'tracestate' ? ['e=1', 'f=2'] : [],
    },
    'e=1,f=2',
  ],
  ['the client’s', FREE_CALL, 'c=1'],
])('the tracestate is the one beside the parent: %s', async (_of, call, state) => {
  const { span } = await traced(
    { jwt: guarded },
    {
      headers: [
        ['traceparent', OF_THE_CLIENT],
        ['tracestate', 'c=1'],
      ],
    },
    call,
  )
  expect(span?.state).toBe(state)
})

test('an allowed call of a tool has the method and the tool, and no claims', async () => {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'ls', arguments: { path: 'hidden' } },
  })
  const { span } = await traced(
    {
      jwt: guarded,
      authorization: { deny: ['mcp.tool.name == "rm"'], require: [], allow: [] },
    },
    {
      headers: [
        bearer(await sign(key, { sub: 'hidden' })),
        ['content-type', 'application/json'],
        ['content-length', String(body.length)],
      ],
      body,
    },
  )
  expect(span?.attributes).toMatchObject({
    'gatehouse.decision': 'allow',
    'gatehouse.reason': 'allowed',
    'mcp.method.name': 'tools/call',
    'mcp.tool.name': 'ls',
    'gen_ai.tool.name': 'ls',
    'gen_ai.operation.name': 'execute_tool',
  })
  expect(JSON.stringify(span)).not.toContain('hidden')
})

test('a read of a resource has its URI, without query and fragment', async () => {
  const uri = 'https://pages.example/a?key=hidden#hidden'
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } })
  const expected = {
    'mcp.method.name': 'resources/read',
    'mcp.resource.uri': 'https://pages.example/a',
  }
  const read = await traced(
    { authorization: { deny: ['mcp.resource.uri == "x"'], require: [], allow: [] } },
    {
      headers: [
        ['content-type', 'application/json'],
        ['content-length', String(body.length)],
      ],
      body,
    },
  )
  const headers = [
    ['mcp-method', 'resources/read'],
    ['mcp-name', uri],
  ] as const
  for (const { span } of [read, await traced({}, { headers })]) {
    expect(span?.attributes).toMatchObject(expected)
    expect(JSON.stringify(span)).not.toContain('hidden')
  }
})

test('without rules that read the body, the headers of MCP say what is called', async () => {
  const { span } = await traced(
    {},
    {
      headers: [
        ['mcp-method', 'tools/call'],
        ['mcp-name', 'ls'],
        ['mcp-protocol-version', '2025-11-25'],
      ],
    },
  )
  expect(span?.attributes).toMatchObject({
    'mcp.method.name': 'tools/call',
    'mcp.tool.name': 'ls',
    'mcp.protocol.version': '2025-11-25',
  })
})

test('a check that fails is an error', async () => {
  const { span, answer } = await traced(
    { jwt: jwt(UNAVAILABLE) },
    {
      headers: [bearer(await sign(key))],
    },
  )
  expect(answer.status).toBe(503)
  expect(span?.end).toEqual({ error: 'key-set-unavailable' })
})

test('a check that cannot be read is decided all the same, without a span', async () => {
  const { span, answer } = await traced({}, Buffer.from([0x0a, 0xff]))
  expect([answer.status, span]).toEqual([503, undefined])
})

test.each(['start', 'set', 'end'])(
  'a tracer whose %s throws changes no decision',
  async (which) => {
    const fail = (): never => {
      throw new Error('a bug')
    }
    const span = {
      traceparent: '',
      tracestate: '',
      headers: {},
      isRecording: true,
      set: () => undefined,
      end: () => undefined,
    }
    const start = which === 'start' ? fail : () => ({ ...span, [which]: fail })
    const tracer = { propagates: true, start }
    const { check } = checker([entry({ jwt: guarded })], { tracer })
    expect((await check({ headers: [bearer(await sign(key))] })).status).toBe(200)
    expect((await check({})).status).toBe(401)
  },
)
