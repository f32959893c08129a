// Audits of MCP guards (decision 25m): webhooks that throw or hang, bodies over the limit, and clients that leave affect
// nothing outside the audit.

import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMcpGuardAudit } from '../../../src/extproc/mcp/mcp-guard-audit.js'
import { createHeldBytes, type HeldBytes } from '../../../src/extproc/session/held-bytes.js'
import type { BodyPart, Headers } from '../../../src/extproc/session/process-message.js'
import type { Processor } from '../../../src/extproc/session/processor.js'
import { compileWebhook } from '../../../src/extproc/webhook/compiled-guard.js'
import type { GuardDeps } from '../../../src/extproc/webhook/guard-deps.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ok } from '../../../src/kit/result.js'
import { eventually } from '../../../testing/eventually.js'
import { recordingTracer } from '../../support/recorded-spans.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'
import { guardrails, webhook } from '../support/guards.js'

const K = 1024

interface Audit {
  readonly processor: Processor
  readonly stream: OwnEnding
  readonly heldBytes: HeldBytes
  readonly verdicts: string[]
  /** Tools and methods that the webhook was asked about. */
  readonly asked: unknown[]
  readonly refusals: string[]
  readonly problems: () => readonly unknown[]
}

interface Asked {
  readonly body: { readonly tool: unknown }
}

function audit(call: WebhookPools['call'], budget = 1024 * K, tracer = recordingTracer()): Audit {
  const { logger, lines } = recordingLogger()
  const heldBytes = createHeldBytes(budget)
  const [verdicts, asked, refusals]: [string[], unknown[], string[]] = [[], [], []]
  const stream = new OwnEnding()
  const pools: WebhookPools = {
    call: (given) => {
      asked.push((JSON.parse(Buffer.from(given.body).toString()) as Asked).body.tool)
      return call(given)
    },
    close: () => Promise.resolve(),
  }
  const deps: GuardDeps = {
    ...guardrails(pools),
    heldBytes,
    metrics: {
      verdict: ({ phase, outcome, mode }) => verdicts.push(`${phase} ${outcome} ${mode}`),
    },
    now: () => 0,
    logger,
    trace: { tracer },
    decisions: {
      claims: [],
      allowed: () => undefined,
      flush: () => undefined,
      refused: ({ key: { phase, reason, outcome, mode } }) =>
        refusals.push(`${phase} ${reason ?? outcome} ${mode}`),
    },
  }
  const hooks = [compileWebhook(webhook(1))]
  const send = (): never => {
    throw new Error('an audit answers')
  }
  const entry = { type: 'mcp-guard-audit', route: 'default/mcp' } as const
  return {
    processor: createMcpGuardAudit(
      { ...entry, request: hooks, response: hooks },
      { send, signal: stream },
      deps,
      50,
    ),
    stream,
    heldBytes,
    verdicts,
    asked,
    refusals,
    problems: () => lines.map((line) => (line as { problem?: unknown }).problem),
  }
}

const rejecting: WebhookPools['call'] = () =>
  Promise.resolve(
    ok({
      status: 200,
      headers: new Map(),
      body: [Buffer.from('{"action":{"body":"no","status_code":400}}')],
    }),
  )
const hanging: WebhookPools['call'] = ({ signal }) =>
  new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(new Error('left')))
  })

const part = (text: string, endOfStream = true): BodyPart => ({
  body: Buffer.from(text),
  endOfStream,
})
const HEADERS: Headers = new Map([
  [':method', ['POST']],
  [':path', ['/mcp']],
  ['content-type', ['application/json']],
  ['mcp-protocol-version', ['2025-06-18']],
])
const REPLY: Headers = new Map([
  [':status', ['200']],
  ['content-type', ['application/json']],
])
const callOf = (size: number): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 't', arguments: { a: 'x'.repeat(size) } },
  })
const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"found"}]}}'
const TOOL = { method: 'tools/call', name: 't' }

function begin({ processor }: Audit): void {
  expect(processor.requestHeaders({ headers: HEADERS, endOfStream: false }, {})).toBeUndefined()
}

function reply({ processor }: Audit): void {
  expect(processor.responseHeaders({ headers: REPLY, endOfStream: false }, {})).toBeUndefined()
  expect(processor.responseBody(part(RESULT))).toBeUndefined()
}

test('verdicts about both directions are counted, and everything held is given back', async () => {
  const one = audit(rejecting)
  begin(one)
  expect(one.processor.requestBody(part(callOf(10)))).toBeUndefined()
  reply(one)
  expect(one.processor.isDone()).toBe(true)
  one.stream.abort()
  await eventually(() =>
    expect(one.verdicts.toSorted()).toEqual(['request reject audit', 'response reject audit']),
  )
  expect(one.asked).toEqual([TOOL, TOOL])
  await eventually(() => expect(one.heldBytes.held()).toBe(0))
  expect(one.refusals).toContain('request reject audit')
})

test('the spans say what was called, and that the refusals had no effect', async () => {
  const tracer = recordingTracer()
  const one = audit(rejecting, 1024 * K, tracer)
  begin(one)
  void one.processor.requestBody(part(callOf(10)))
  reply(one)
  await eventually(() => expect(tracer.spans.filter(({ end }) => end)).toHaveLength(4))
  for (const phase of ['request', 'response']) {
    const span = tracer.spans.find(({ name }) => name === `gatehouse.guard ${phase}`)
    expect(span?.end).toEqual({ error: undefined })
    expect(span?.attributes).toEqual({
      'gatehouse.route': 'default/mcp',
      'gatehouse.phase': phase,
      'gatehouse.mode': 'audit',
      'gatehouse.outcome': 'refused',
      'mcp.method.name': 'tools/call',
      'mcp.tool.name': 't',
      'gen_ai.tool.name': 't',
      'gen_ai.operation.name': 'execute_tool',
      'mcp.protocol.version': '2025-06-18',
    })
  }
  one.stream.abort()
})

test('a reply is read once the request was, even if it comes before', async () => {
  const one = audit(rejecting)
  begin(one)
  const call = callOf(10)
  void one.processor.requestBody(part(call.slice(0, 20), false))
  reply(one)
  for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  expect(one.asked).toEqual([])
  void one.processor.requestBody(part(call.slice(20)))
  await eventually(() => expect(one.asked).toEqual([TOOL, TOOL]))
  one.stream.abort()
})

test('a webhook that hangs about a call does not hold up the result', async () => {
  const one = audit((given) => (given.phase === 'request' ? hanging(given) : rejecting(given)))
  begin(one)
  void one.processor.requestBody(part(callOf(10)))
  reply(one)
  await eventually(() => expect(one.verdicts).toEqual(['response reject audit']))
  one.stream.abort()
  await eventually(() => expect(one.heldBytes.held()).toBe(0))
  expect(one.verdicts).toHaveLength(1)
})

test('a client that leaves before its call is whole leaves nothing held', async () => {
  const one = audit(rejecting)
  begin(one)
  void one.processor.requestBody(part(callOf(100 * K).slice(0, 50 * K), false))
  reply(one)
  expect(one.heldBytes.held()).toBeGreaterThan(0)
  one.stream.abort()
  await eventually(() => expect(one.heldBytes.held()).toBe(0))
  expect(one.asked).toEqual([])
})

test('bodies beyond half of what may be held are not audited, and leave the other half alone', () => {
  const one = audit(rejecting, 100 * K)
  begin(one)
  void one.processor.requestBody(part(' '.repeat(60 * K), false))
  expect(one.heldBytes.held()).toBe(0)
  expect(one.heldBytes.open().add(100 * K)).toBe(true)
})

test('a message out of order, and anything that throws, ends the audit alone', async () => {
  const one = audit(rejecting)
  expect(() => one.processor.requestBody(part('{}'))).not.toThrow()
  await eventually(() => expect(one.problems()).toHaveLength(1))
  expect(() => begin(one)).not.toThrow()
  const broken = audit(() => {
    throw new Error('a bug')
  })
  begin(broken)
  expect(broken.processor.requestBody(part(callOf(10)))).toBeUndefined()
  await eventually(() => expect(broken.problems()).toHaveLength(1))
  expect(broken.heldBytes.held()).toBe(0)
})
