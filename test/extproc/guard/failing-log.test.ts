// A decision log that fails, as on a bug in one of its outputs: what is refused is refused all the same, and nothing ends
// but the request.

import type { ServerResponse } from 'node:http'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDecisionLog } from '../../../src/kit/decision-log.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../../src/wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { eventually } from '../../../testing/eventually.js'
import { type HttpServer, startHttpServer } from '../../support/http-server.js'
import { guardService } from '../support/guard-service.js'
import { guardEntry, guardrails, plainPools, webhook } from '../support/guards.js'
import { body, replyIn, request } from '../support/messages.js'
import { type ProcServer, startProcServer } from '../support/stream.js'

const KEY = 'default/llm/0'
const FULL = BodySendMode.FULL_DUPLEX_STREAMED
const POST = request('POST', '/v1/chat/completions', {
  config: { requestBodyMode: FULL, responseBodyMode: FULL },
})
const CHAT = JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })

let asked: ServerResponse[]
let hook: HttpServer
let pools: WebhookPools
let server: ProcServer
/** Lines that could not be written. */
let failed: number

beforeEach(async () => {
  asked = []
  failed = 0
  hook = await startHttpServer((_request, response) => asked.push(response))
  pools = plainPools()
  const entries = [guardEntry(KEY, { request: [webhook(hook.port)] })]
  const decisions = createDecisionLog({
    claims: [],
    now: () => 0,
    choice: { refusals: true, oneAllowedOf: 0 },
    write: () => {
      failed += 1
      throw new Error('a bug')
    },
  })
  const service = guardService(entries, { ...guardrails(pools), decisions, bodyTimeoutMs: 20 })
  server = await startProcServer(service)
})
afterEach(async () => {
  await server.close()
  await pools.close()
  await hook.close()
})

test('a body that does not come in time is 408', async () => {
  const stream = server.open(KEY)
  stream.send(POST, body('{', false))
  expect(replyIn(await stream.next())).toMatchObject({ status: 408 })
  expect(failed).toBe(1)
})

test('a prompt that cannot be read is 400', async () => {
  const stream = server.open(KEY)
  stream.send(POST, body('{'))
  expect(replyIn(await stream.next())).toMatchObject({ status: 400 })
  expect(failed).toBe(1)
})

test('a reject is the answer of its webhook', async () => {
  const stream = server.open(KEY)
  stream.send(POST, body(CHAT))
  await eventually(() => expect(asked).toHaveLength(1))
  asked[0]?.end(JSON.stringify({ action: { body: 'no', status_code: 403 } }))
  expect(replyIn(await stream.next())).toMatchObject({ status: 403, text: 'no' })
  expect(failed).toBe(1)
})

test('an unknown route is 503', async () => {
  const stream = server.open('unknown')
  expect(replyIn(await stream.next())).toMatchObject({ status: 503 })
  expect((await stream.end).code).toBe(status.UNAVAILABLE)
  expect(failed).toBe(1)
})

test('a message out of order is 503, and an error', async () => {
  const stream = server.open(KEY)
  stream.send(body(CHAT))
  expect(replyIn(await stream.next())).toMatchObject({ status: 503 })
  expect((await stream.end).code).toBe(status.INTERNAL)
  expect(failed).toBe(1)
})
