// Refusals by guards in the decision log: each kind on each route is reported, however often clients cause it.

import { expect, test } from 'vitest'
import { lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { rejectReply } from '../../../src/extproc/guard/guard-reply.js'
import { requestTooLarge, unreadableRequest } from '../../../src/extproc/guard/inspect-request.js'
import type { Refused } from '../../../src/extproc/guard/inspection.js'
import { refused } from '../../../src/extproc/guard/inspection.js'
import { loggedReply, logRefusal } from '../../../src/extproc/webhook/refusal-log.js'
import { createDecisionLog } from '../../../src/kit/decision-log.js'

const place = { policy: 'default/guard', source: 'guard.yaml:1', rule: 'promptGuard.request[0]' }
const attributes = {
  request: {
    method: 'POST',
    scheme: 'https',
    host: 'llm.example',
    pathAndQuery: '/v1/chat?key=secret',
    version: 'HTTP/1.1',
    headers: new Map([
      ['x-request-id', 'id-1'],
      ['authorization', 'Bearer secret-of-the-client'],
    ]),
  },
  jwt: lazyValue({ sub: 'alice', email: 'alice@example.com' }),
}

function logging(mode?: 'audit') {
  const clock = { now: 0 }
  const lines: object[] = []
  const decisions = createDecisionLog({
    claims: [],
    now: () => clock.now,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: (message, fields) => void lines.push({ message, ...fields }),
  })
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  const log = (route: string, phase: 'request' | 'response', of: Refused): void =>
    logRefusal(
      { decisions, traceparent, ...(mode && { mode }) },
      { guard: { route, request: [webhook], response: [] }, phase, attributes },
      loggedReply(of),
    )
  return { clock, lines, log }
}

const webhook = {
  place,
  headers: [],
  host: '',
  path: '',
  webhook: {} as never,
}

test('a refusal without a verdict has a line: why, whose request it was, and the policy', () => {
  const { lines, log } = logging()
  log('default/llm', 'request', requestTooLarge('/'))
  expect(lines).toEqual([
    {
      message: 'guardrail refusal',
      decision: 'deny',
      reason: 'guardrail_too_large',
      status: 413,
      route: 'default/llm',
      phase: 'request',
      problem: 'the body is too large',
      ...place,
      requestId: 'id-1',
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      method: 'POST',
      host: 'llm.example',
      path: '/v1/chat',
      verified: true,
      sub: 'alice',
      leftOut: 0,
    },
  ])
})

test('a reject has the line of its verdict, and no other', () => {
  const { lines, log } = logging()
  const reply = rejectReply('openai-chat', { type: 'reject', status: 403, text: 'no' })
  log('default/llm', 'request', refused(reply, 'rejected by a webhook'))
  expect(lines).toEqual([])
})

test('audits say so', () => {
  const { lines, log } = logging('audit')
  log('default/llm', 'request', requestTooLarge('/'))
  expect(lines).toMatchObject([{ mode: 'audit', reason: 'guardrail_too_large' }])
})

test('one line for each problem of each phase of each route in ten seconds, with how many were left out', () => {
  const { clock, lines, log } = logging()
  for (let count = 0; count < 1000; count++) {
    log('default/llm', 'request', requestTooLarge('/'))
    log('default/llm', 'request', unreadableRequest('not JSON', '/'))
    log('default/llm', 'response', unreadableRequest('not JSON', '/'))
    log('default/other', 'request', requestTooLarge('/'))
  }
  clock.now = 10_000
  log('default/llm', 'request', requestTooLarge('/'))
  expect(lines).toHaveLength(5)
  expect(lines).toMatchObject([
    { route: 'default/llm', status: 413, problem: 'the body is too large', leftOut: 0 },
    { route: 'default/llm', status: 400, problem: 'not JSON', phase: 'request', leftOut: 0 },
    { route: 'default/llm', status: 400, problem: 'not JSON', phase: 'response', leftOut: 0 },
    { route: 'default/other', status: 413, leftOut: 0 },
    { route: 'default/llm', status: 413, leftOut: 999 },
  ])
})
