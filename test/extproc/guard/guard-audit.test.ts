// Audits of guards (decision 25m): webhooks that fail or hang, bodies over the limit, and clients that disconnect
// affect nothing outside the audit.

import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createGuardAudit } from '../../../src/extproc/guard/guard-audit.js'
import { createHeldBytes, type HeldBytes } from '../../../src/extproc/session/held-bytes.js'
import type { BodyPart, Headers } from '../../../src/extproc/session/process-message.js'
import type { Processor } from '../../../src/extproc/session/processor.js'
import { compileGuardAudit } from '../../../src/extproc/webhook/compiled-guard.js'
import type { GuardDeps } from '../../../src/extproc/webhook/guard-deps.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { eventually } from '../../../testing/eventually.js'
import { type HttpServer, startHttpServer } from '../../support/http-server.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'
import { guardrails, plainPools, webhook } from '../support/guards.js'

const K = 1024
const policy = { policy: 'default/llm', source: 'llm.yaml:1' }

let asked: ServerResponse[]
let hook: HttpServer
let pools: WebhookPools

beforeEach(async () => {
  asked = []
  hook = await startHttpServer((_request, response) => asked.push(response))
  pools = plainPools()
})
afterEach(async () => {
  await pools.close()
  await hook.close()
})

interface Audit {
  readonly processor: Processor
  readonly stream: OwnEnding
  readonly heldBytes: HeldBytes
  readonly verdicts: string[]
  readonly problems: () => readonly unknown[]
}

function audit(changes: Partial<GuardDeps> = {}, budget = 1024 * K): Audit {
  const { logger, lines } = recordingLogger()
  const heldBytes = createHeldBytes(budget)
  const verdicts: string[] = []
  const stream = new OwnEnding()
  const hooks = [{ ...webhook(hook.port), policy }]
  const deps: GuardDeps = {
    ...guardrails(pools),
    heldBytes,
    metrics: {
      verdict: ({ phase, outcome, mode }) => verdicts.push(`${phase} ${outcome} ${mode}`),
    },
    now: () => 0,
    logger,
    ...changes,
  }
  const entry = compileGuardAudit({
    type: 'guard-audit',
    key: 'k',
    route: 'default/llm',
    request: hooks,
    response: hooks,
  })
  const send = (): never => {
    throw new Error('an audit answers')
  }
  return {
    processor: createGuardAudit(entry, { send, signal: stream }, deps, 50),
    stream,
    heldBytes,
    verdicts,
    problems: () => lines.map((line) => (line as { problem?: unknown }).problem),
  }
}

const HEADERS: Headers = new Map([
  [':method', ['POST']],
  [':path', ['/v1/chat/completions']],
])
const REPLY: Headers = new Map([[':status', ['200']]])
const part = (text: string, endOfStream = true): BodyPart => ({
  body: Buffer.from(text),
  endOfStream,
})
const chat = (size: number): string =>
  JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(size) }] })

function begin({ processor }: Audit): void {
  expect(processor.requestHeaders({ headers: HEADERS, endOfStream: false }, {})).toBeUndefined()
}

test('what comes never waits for a webhook, and everything held is given back', async () => {
  const one = audit()
  begin(one)
  expect(one.processor.requestBody(part(chat(10)))).toBeUndefined()
  await eventually(() => expect(asked).toHaveLength(1))
  expect(one.processor.responseHeaders({ headers: REPLY, endOfStream: false }, {})).toBeUndefined()
  expect(one.processor.responseBody(part('{"id":"x"', false))).toBeUndefined()
  expect(one.processor.isDone()).toBe(true)
  one.stream.abort()
  asked[0]?.end('{"action":{"body":"no","status_code":400}}')
  await eventually(() => expect(one.verdicts).toEqual(['request reject audit']))
  await eventually(() => expect(one.heldBytes.held()).toBe(0))
})

test('a webhook that never answers ends with the audit, some time after the exchange', async () => {
  const one = audit()
  begin(one)
  void one.processor.requestBody(part(chat(10)))
  await eventually(() => expect(asked).toHaveLength(1))
  const closed = new Promise((resolve) => asked[0]?.once('close', resolve))
  one.stream.abort()
  await closed
  expect(one.verdicts).toEqual([])
  expect(one.heldBytes.held()).toBe(0)
})

test('a client that leaves before its body is whole leaves nothing held', async () => {
  const one = audit()
  begin(one)
  void one.processor.requestBody(part(chat(100 * K).slice(0, 50 * K), false))
  expect(one.heldBytes.held()).toBeGreaterThan(0)
  one.stream.abort()
  await eventually(() => expect(one.heldBytes.held()).toBe(0))
  expect(asked).toHaveLength(0)
})

test('bodies beyond half of what may be held are not audited, and leave the other half alone', () => {
  const one = audit({}, 100 * K)
  begin(one)
  void one.processor.requestBody(part(' '.repeat(60 * K), false))
  expect(one.heldBytes.held()).toBe(0)
  expect(one.heldBytes.open().add(100 * K)).toBe(true)
})

test('pieces that wait behind an unanswered webhook are bounded too', async () => {
  const one = audit({}, 200 * K)
  begin(one)
  const event = (text: string): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`
  const headers: Headers = new Map([...REPLY, ['content-type', ['text/event-stream']]])
  void one.processor.responseHeaders({ headers, endOfStream: false }, {})
  for (let i = 0; i < 200; i++) {
    void one.processor.responseBody(part(event('word '.repeat(400)), false))
    expect(one.heldBytes.held()).toBeLessThanOrEqual(100 * K)
    if (i === 20) await eventually(() => expect(asked.length).toBeGreaterThan(0))
  }
  one.stream.abort()
  await eventually(() => expect(one.heldBytes.held()).toBe(0))
})

test('a message out of order, and anything that throws, ends the audit alone', async () => {
  const one = audit()
  expect(() => one.processor.requestBody(part('{}'))).not.toThrow()
  expect(one.problems()).toHaveLength(1)
  expect(() => begin(one)).not.toThrow()
  const broken = audit({
    pools: { call: () => Promise.reject(new Error('no sockets')) } as unknown as WebhookPools,
  })
  begin(broken)
  expect(broken.processor.requestBody(part(chat(10)))).toBeUndefined()
  await eventually(() => expect(broken.problems()).toHaveLength(1))
  expect(broken.heldBytes.held()).toBe(0)
})
