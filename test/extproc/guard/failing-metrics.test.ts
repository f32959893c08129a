// A metric that fails while a webhook is asked, as on a bug in it: the reply does not pass, whatever the verdict, and the
// webhook's answer is waited for.

import type { ServerResponse } from 'node:http'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../../src/wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { eventually } from '../../../testing/eventually.js'
import { type HttpServer, startHttpServer } from '../../support/http-server.js'
import { guardService } from '../support/guard-service.js'
import { guardEntry, guardrails, plainPools, webhook } from '../support/guards.js'
import { body, headerMap, replyIn, request } from '../support/messages.js'
import { type Message, type ProcServer, startProcServer } from '../support/stream.js'

const KEY = 'default/llm/0'
const FULL = BodySendMode.FULL_DUPLEX_STREAMED
const POST = request('POST', '/v1/chat/completions', {
  config: { requestBodyMode: FULL, responseBodyMode: FULL },
})
const REPLY = JSON.stringify({
  model: 'm',
  choices: [{ message: { role: 'assistant', content: 'hello' } }],
})

const REPLY_HEADERS: Message = {
  request: {
    case: 'responseHeaders',
    value: { headers: headerMap({ ':status': '200', 'content-type': 'application/json' }) },
  },
}
const REPLY_BODY: Message = {
  request: { case: 'responseBody', value: { body: Buffer.from(REPLY), endOfStream: true } },
}

let asked: ServerResponse[]
let counted: number
let hook: HttpServer
let pools: WebhookPools
let server: ProcServer

beforeEach(async () => {
  asked = []
  counted = 0
  hook = await startHttpServer((_request, response) => asked.push(response))
  pools = plainPools()
  const given = guardrails(pools)
  const tokens = (): void => {
    counted += 1
    throw new Error('a bug')
  }
  const metrics = { ...given.metrics, tokens }
  const entries = [guardEntry(KEY, { response: [webhook(hook.port)] })]
  server = await startProcServer(guardService(entries, { ...given, metrics }))
})
afterEach(async () => {
  await server.close()
  await pools.close()
  await hook.close()
})

test('the reply is refused once the webhook has allowed it', async () => {
  const stream = server.open(KEY)
  stream.send(POST, body('{}'))
  expect((await stream.next()).response.case).toBe('requestHeaders')
  expect((await stream.next()).response.case).toBe('requestBody')
  stream.send(REPLY_HEADERS, REPLY_BODY)
  await eventually(() => expect(asked).toHaveLength(1))
  expect(counted).toBe(1)
  asked[0]?.end(JSON.stringify({ action: {} }))
  expect(replyIn(await stream.next())).toMatchObject({ status: 503 })
  expect((await stream.end).code).toBe(status.INTERNAL)
  expect(stream.responses).toHaveLength(3)
})
