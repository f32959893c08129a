// Requests that Envoy denies because their ext_proc stream has failed have lines in the decision log, as other refusals do.

import { status } from '@grpc/grpc-js'
import { afterEach, expect, test } from 'vitest'
import { createProcessService } from '../../src/extproc/process-service.js'
import { createHeldBytes } from '../../src/extproc/session/held-bytes.js'
import type { GuardDeps } from '../../src/extproc/webhook/guard-deps.js'
import { createDecisionLog } from '../../src/kit/decision-log.js'
import type { ProcEntry } from '../../src/model/proc-entry.js'
import { KEY, proxied, REGISTRATION } from './support/entries.js'
import { guardEntry, guardrails, webhook } from './support/guards.js'
import { body, request } from './support/messages.js'
import { buildProcTable } from './support/proc-table.js'
import { type Message, type ProcServer, silent, startProcServer } from './support/stream.js'

let server: ProcServer | undefined
afterEach(() => server?.close())

function broken(): never {
  throw new Error('a bug: secret')
}

/** A service whose calls of providers and webhooks throw. */
async function serve(entry: ProcEntry, changes: Partial<GuardDeps> = {}, heldBytes = Infinity) {
  const lines: object[] = []
  const decisions = createDecisionLog({
    claims: [],
    now: () => 0,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: (message, fields) => void lines.push({ message, ...fields }),
  })
  const table = buildProcTable([entry])
  const service = createProcessService({
    guardrails: {
      ...guardrails({ call: broken, close: () => Promise.resolve() }),
      decisions,
      ...changes,
    },
    table: () => table,
    callRemote: broken,
    now: () => 0,
    logger: silent,
  })
  server = await startProcServer(service, { messages: createHeldBytes(heldBytes) })
  return { server, service, lines }
}

const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const CHAT = '{"model":"m","messages":[{"role":"user","content":"hi"}]}'
const place = { policy: 'default/guard', source: 'guard.yaml:1' }

const prompt = (): Message =>
  request('POST', '/v1/chat/completions?key=secret', {
    headers: { 'x-request-id': 'id-1', 'content-type': 'application/json' },
    config: { requestBodyMode: 4, responseBodyMode: 4 },
  })

test('a guard that throws: the line has the policy, the rule and the request, and no data', async () => {
  const { server, lines } = await serve({
    ...guardEntry(KEY, { request: [webhook(1)] }),
    policy: place,
  })
  const stream = server.openTraced(KEY, TRACE)
  stream.send(prompt(), body(CHAT))
  expect((await stream.end).code).toBe(status.INTERNAL)
  expect(lines).toEqual([
    {
      message: 'stream refusal',
      decision: 'deny',
      reason: 'internal-error',
      status: 503,
      route: 'default/llm',
      phase: 'request',
      ...place,
      rule: 'promptGuard.request[0]',
      problem: 'the request could not be processed',
      requestId: 'id-1',
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      method: 'POST',
      host: 'gw.example',
      path: '/v1/chat/completions',
      leftOut: 0,
    },
  ])
})

test('a client that leaves is denied nothing: there is no line of a GET that ends', async () => {
  const { server, lines } = await serve(guardEntry(KEY, { response: [webhook(1)] }))
  const stream = server.open(KEY)
  stream.send(request('GET', '/v1/models', { config: { requestBodyMode: 4, responseBodyMode: 4 } }))
  await stream.next()
  stream.halfClose()
  expect((await stream.end).code).toBe(status.UNAVAILABLE)
  expect(lines).toEqual([])
})

test('a registration that throws', async () => {
  const { server, lines } = await serve(proxied())
  const stream = server.open(KEY)
  stream.send(request('POST', REGISTRATION), body('{"redirect_uris":["http://127.0.0.1/cb"]}'))
  expect((await stream.end).code).toBe(status.INTERNAL)
  expect(lines).toMatchObject([
    { message: 'stream refusal', route: 'default/mcp', method: 'POST', path: REGISTRATION },
  ])
})

test('a shutdown that ends waiting requests', async () => {
  let asked = (): void => undefined
  const isAsked = new Promise<void>((resolve) => (asked = resolve))
  const call: GuardDeps['pools']['call'] = ({ signal }) =>
    new Promise((resolve) => {
      asked()
      const aborted = { ok: false, error: { type: 'aborted' } } as const
      signal?.addEventListener('abort', () => resolve(aborted))
    })
  const pools = { call, close: () => Promise.resolve() }
  const { server, service, lines } = await serve(guardEntry(KEY, { request: [webhook(1)] }), {
    pools,
  })
  const stream = server.open(KEY)
  stream.send(prompt(), body(CHAT))
  await isAsked
  await service.drain?.(0)
  expect((await stream.end).code).toBe(status.UNAVAILABLE)
  expect(lines).toMatchObject([
    { message: 'stream refusal', reason: 'unavailable', problem: 'shutting down', status: 503 },
  ])
})

test('a message without room among those that have not arrived whole', async () => {
  const { server, lines } = await serve(proxied(), {}, 100_000)
  const stream = server.open(KEY)
  stream.send(request('POST', REGISTRATION), body('x'.repeat(1_000_000)))
  expect((await stream.end).code).toBe(status.RESOURCE_EXHAUSTED)
  expect(lines).toMatchObject([
    { message: 'stream refusal', reason: 'too-many-unfinished-messages', path: REGISTRATION },
  ])
  const details = 'gatehouse_too-many-unfinished-messages'
  expect(stream.responses.at(-1)?.response).toMatchObject({ value: { details } })
})

test('a client that leaves has no line', async () => {
  const { server, lines } = await serve(guardEntry(KEY, { request: [webhook(1)] }))
  const stream = server.open(KEY)
  stream.send(prompt())
  stream.cancel()
  expect((await stream.end).code).toBe(status.CANCELLED)
  expect(lines).toEqual([])
})

test('a route that is not known: what Envoy called it', async () => {
  const { server, lines } = await serve(proxied())
  const stream = server.openTraced('default/other/0', TRACE)
  stream.send(prompt())
  expect((await stream.end).code).toBe(status.UNAVAILABLE)
  expect(lines).toEqual([
    {
      message: 'stream refusal',
      decision: 'deny',
      reason: 'unknown-route',
      status: 503,
      route: 'unknown',
      key: 'default/other/0',
      leftOut: 0,
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
    },
  ])
})
