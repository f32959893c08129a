// A real OpenTelemetry Collector receives what Envoy and Gatehouse send: one trace from the client to the webhook, the
// lines of the decision log that belong to it, and the metrics.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import {
  answerJson,
  chat,
  completion,
  guardedBoth,
  hook,
  sample,
  service,
} from '../support/guardrails.js'
import { send } from '../support/http.js'
import { guardedMcp } from '../support/mcp-guards.js'
import { protectedRoute, provider } from '../support/protected-stack.js'
import { gateway, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'
import { type ChildProgram, startProgram } from './support/child-program.js'
import { otelCollector } from './support/tools.js'

interface KeyValue {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string | number }
}

/** OTLP in JSON, as far as the tests read it. */
interface Received {
  readonly resourceSpans?: readonly (Sender & {
    readonly scopeSpans: readonly { readonly spans: readonly Wire<Span>[] }[]
  })[]
  readonly resourceLogs?: readonly (Sender & {
    readonly scopeLogs: readonly { readonly logRecords: readonly Wire<LogRecord>[] }[]
  })[]
}
interface Sender {
  readonly resource: { readonly attributes: readonly KeyValue[] }
}
type Wire<T> = Omit<T, 'attributes'> & { readonly attributes?: readonly KeyValue[] }

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  readonly traceState?: string
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  /** service.name of the sender. */
  readonly service?: unknown
  /** gatehouse.worker of the sender. */
  readonly worker?: unknown
}

interface LogRecord {
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Readonly<Record<string, unknown>>
}

const plain = (attributes: readonly KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key: name, value }) => [name, value.stringValue ?? Number(value.intValue)]),
  )

const key = await newKey('one')
let folder: string
let collector: ChildProgram
/** Receives what the collector exports. */
let sink: Backend
let llm: Backend
let webhook: Backend
let stack: Stack

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-otel-'))
  ;[sink, llm, webhook] = await Promise.all([startBackend(), startBackend('llm'), startBackend()])
  sink.answer((_request, response) => response.writeHead(200).end())
  llm.answer(
    answerJson({ ...completion('hello'), usage: { prompt_tokens: 11, completion_tokens: 7 } }),
  )
  webhook.answer(sample)
  const port = await freePort()
  await writeFile(join(folder, 'collector.yaml'), JSON.stringify(configuration(port, sink.port)))
  collector = startProgram(otelCollector(), ['--config', join(folder, 'collector.yaml')])
  await collector.seen(/Everything is ready/)
  stack = await startStack({
    resources: (own) => [
      gateway([own]),
      proxyBackend('llm', llm),
      proxyBackend('backend', llm),
      ...service('guard', webhook.port),
      ...guardedBoth,
      ...guardedMcp('/mcp', 'backend', { request: [hook('guard')] }),
      ...protectedRoute('api', {
        jwtAuthentication: { providers: [provider([key], { audiences: ['api'] })] },
      }),
    ],
    flags: ['--otlp', `http://127.0.0.1:${String(port)}`, '--workers', '2'],
    environment: { OTEL_METRIC_EXPORT_INTERVAL: '500', OTEL_BSP_SCHEDULE_DELAY: '100' },
  })
})

afterAll(async () => {
  await stack?.close()
  await collector.stop()
  await Promise.all([sink.close(), llm.close(), webhook.close()])
  await rm(folder, { recursive: true })
})

/** A collector that receives by HTTP and passes everything on as JSON. */
const configuration = (port: number, to: number): object => ({
  receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${String(port)}` } } } },
  exporters: {
    otlphttp: {
      endpoint: `http://127.0.0.1:${String(to)}`,
      encoding: 'json',
      compression: 'none',
      sending_queue: { enabled: false },
    },
  },
  service: {
    telemetry: { metrics: { level: 'none' } },
    pipelines: Object.fromEntries(
      ['traces', 'logs', 'metrics'].map((signal) => [
        signal,
        { receivers: ['otlp'], exporters: ['otlphttp'] },
      ]),
    ),
  },
})

const received = (signal: string): readonly Received[] =>
  sink.requests
    .filter(({ url }) => url === `/v1/${signal}`)
    .map(({ body }) => JSON.parse(body) as Received)

const spans = (): readonly Span[] =>
  received('traces').flatMap(({ resourceSpans = [] }) =>
    resourceSpans.flatMap(({ resource, scopeSpans }) =>
      scopeSpans.flatMap(({ spans: all }) =>
        all.map((span) => ({
          ...span,
          attributes: plain(span.attributes),
          service: plain(resource.attributes)['service.name'],
          worker: plain(resource.attributes)['gatehouse.worker'],
        })),
      ),
    ),
  )

const records = (): readonly LogRecord[] =>
  received('logs').flatMap(({ resourceLogs = [] }) =>
    resourceLogs.flatMap(({ scopeLogs }) =>
      scopeLogs.flatMap(({ logRecords }) =>
        logRecords.map((one) => ({ ...one, attributes: plain(one.attributes) })),
      ),
    ),
  )

/** The span of this name in this trace, and its ancestors up to the root. */
function pathTo(traceId: string, name: string): readonly Span[] {
  const all = spans().filter((span) => span.traceId === traceId)
  const up = (span: Span | undefined): readonly Span[] =>
    span === undefined ? [] : [span, ...up(all.find(({ spanId }) => spanId === span.parentSpanId))]
  return up(all.find((span) => span.name === name))
}

const traceparent = (traceId: string): string => `00-${traceId}-${CLIENT}-01`
const CLIENT = 'c'.repeat(16)
const STATE = 'vendor=1,0tenant@other=a b'

/** Envoy sends its spans every five seconds. */
const SENT_MS = 30_000

test('a guarded request is one trace, from the client to the webhook', async () => {
  const traceId = 'a'.repeat(32)
  const answer = await send(stack.origin, '/both/v1/chat/completions?code=hidden', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      traceparent: traceparent(traceId),
      tracestate: STATE,
    },
    body: chat('hidden'),
  })
  expect(answer.status).toBe(200)
  const path = await eventually(() => {
    const found = pathTo(traceId, 'POST')
    expect(found).toHaveLength(4)
    return found
  }, SENT_MS)
  expect(path.map(({ service: sender, name }) => [sender, name])).toEqual([
    ['gatehouse', 'POST'],
    ['gatehouse', 'gatehouse.guard request'],
    ['envoy', 'async envoy.service.ext_proc.v3.ExternalProcessor.Process egress'],
    ['envoy', 'ingress'],
  ])
  expect(path.at(-1)?.parentSpanId).toBe(CLIENT)
  expect(path.map(({ traceState }) => traceState)).toEqual([STATE, STATE, STATE, STATE])
  expect(webhook.requests[0]?.headers['tracestate']).toBe(STATE)
  const [call, guard] = path
  expect(webhook.requests[0]?.headers['traceparent']).toBe(`00-${traceId}-${call?.spanId ?? ''}-01`)
  expect(call?.attributes).toMatchObject({
    'gatehouse.webhook': 'service/default/guard/80',
    'http.response.status_code': 200,
  })
  expect(guard?.attributes).toMatchObject({
    'gatehouse.route': 'default/both',
    'gatehouse.outcome': 'passed',
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
  })
  expect(pathTo(traceId, 'gatehouse.guard response')[0]?.attributes).toMatchObject({
    'gen_ai.response.model': 'm',
    'gen_ai.usage.input_tokens': 11,
    'gen_ai.usage.output_tokens': 7,
  })
  expect(llm.requests[0]?.headers['traceparent']).toContain(traceId)
})

test('a guarded stream: its span has the tokens that the last event says', async () => {
  const traceId = 'd'.repeat(32)
  const chunk = (more: object): string =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'm', choices: [], ...more })}\n\n`
  const said = (content: string): string =>
    chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
  const counts = { prompt_tokens: 21, completion_tokens: 4 }
  const events = [...['one', ' two', ' three'].map(said), chunk({ usage: counts })]
  const before = llm.requests.length
  llm.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end([...events, 'data: [DONE]\n\n'].join(''))
  })
  const answer = await send(stack.origin, '/both/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: traceparent(traceId) },
    body: chat('hi', { stream: true }),
  })
  expect(answer.body).toContain('[DONE]')
  expect(llm.requests.length).toBe(before + 1)
  const span = await eventually(() => {
    const [found] = pathTo(traceId, 'gatehouse.guard response')
    expect(found).toBeDefined()
    return found
  }, SENT_MS)
  expect(span?.attributes).toMatchObject({
    'gatehouse.outcome': 'passed',
    'gen_ai.response.model': 'm',
    'gen_ai.usage.input_tokens': 21,
    'gen_ai.usage.output_tokens': 4,
  })
})

test('a guarded MCP call is one trace, and its span names the method and the tool', async () => {
  const traceId = '9'.repeat(32)
  const call = { name: 'search', arguments: { query: 'hidden' } }
  const answer = await send(stack.origin, '/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      traceparent: traceparent(traceId),
      'mcp-protocol-version': '2025-06-18',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
  })
  expect(answer.status).toBe(200)
  const [webhookCall, guard, ...envoy] = await eventually(() => {
    const found = pathTo(traceId, 'POST')
    expect(found).toHaveLength(4)
    return found
  }, SENT_MS)
  expect([webhookCall?.name, guard?.name]).toEqual(['POST', 'gatehouse.guard request'])
  expect(envoy.at(-1)?.parentSpanId).toBe(CLIENT)
  expect(guard?.attributes).toEqual({
    'gatehouse.route': 'default/mcp',
    'gatehouse.phase': 'request',
    'gatehouse.outcome': 'passed',
    'mcp.method.name': 'tools/call',
    'mcp.protocol.version': '2025-06-18',
    'mcp.tool.name': 'search',
    'gen_ai.tool.name': 'search',
    'gen_ai.operation.name': 'execute_tool',
  })
})

test('a denied request: the span of its check, and the line of the decision log in the same trace', async () => {
  const traceId = 'b'.repeat(32)
  const answer = await send(stack.origin, '/api/x?code=hidden', {
    headers: { traceparent: traceparent(traceId), authorization: 'Bearer hidden.hidden.hidden' },
  })
  expect(answer.status).toBe(401)
  const [check, call, ingress] = await eventually(() => {
    const found = pathTo(traceId, 'gatehouse.check')
    expect(found).toHaveLength(3)
    return found
  }, SENT_MS)
  expect(check?.attributes).toMatchObject({
    'gatehouse.decision': 'deny',
    'gatehouse.reason': 'malformed-token',
    'gatehouse.route': 'default/api',
    'url.path': '/api/x',
    'http.request.method': 'GET',
    'gatehouse.request_id': answer.headers['x-request-id'],
  })
  expect(call?.name).toBe('async envoy.service.auth.v3.Authorization.Check egress')
  expect(ingress).toMatchObject({ name: 'ingress', parentSpanId: CLIENT })
  const line = await eventually(() => {
    const [found] = records().filter((one) => one.traceId === traceId)
    expect(found).toBeDefined()
    return found
  })
  expect(line?.spanId).toBe(call?.spanId)
  expect(line?.attributes).toMatchObject({
    'gatehouse.reason': 'malformed-token',
    'gatehouse.path': '/api/x',
    'gatehouse.requestId': answer.headers['x-request-id'],
  })
})

test('each worker identifies itself', async () => {
  const senders = await eventually(async () => {
    await send(stack.origin, '/api')
    const found = new Set(spans().flatMap(({ worker }) => worker ?? []))
    expect(found.size).toBe(2)
    return found
  }, SENT_MS)
  expect([...senders].toSorted()).toEqual([1, 2])
})

test('the metrics of /metrics arrive too, and nothing secret arrives at all', async () => {
  await eventually(() => {
    expect(JSON.stringify(received('metrics'))).toMatch(/"name":"gatehouse_checks_total"/)
    expect(JSON.stringify(received('metrics'))).toMatch(/"name":"gatehouse_check_duration_seconds"/)
  })
  expect(sink.requests.map(({ body }) => body).join('')).not.toContain('hidden')
  expect(await stack.metrics()).toMatch(
    /gatehouse_exported_total\{to="otlp",signal="traces",result="sent"\} [1-9]/,
  )
})
