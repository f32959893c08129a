// The guard processor in isolation: what it never lets through, in any order and state of its stream.

import type { ServerResponse } from 'node:http'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../../src/wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import type { GrpcService } from '../../../src/wire/grpc/service.js'
import { eventually } from '../../../testing/eventually.js'
import { type HttpServer, startHttpServer } from '../../support/http-server.js'
import { guardService } from '../support/guard-service.js'
import {
  type CountedVerdict,
  guardEntry,
  guardrails,
  plainPools,
  webhook,
} from '../support/guards.js'
import { body, headerMap, replyIn, request } from '../support/messages.js'
import { type Message, type ProcServer, startProcServer } from '../support/stream.js'

const KEY = 'default/llm/0'
const PROMPT = '{"messages":[{"role":"user","content":"hi"}]}'

let asked: ServerResponse[]
let hook: HttpServer
let pools: WebhookPools
let service: GrpcService
let server: ProcServer
let verdicts: CountedVerdict[]

beforeEach(async () => {
  asked = []
  verdicts = []
  hook = await startHttpServer((_request, response) => asked.push(response))
  pools = plainPools()
  const hooks = [webhook(hook.port)]
  const entries = [
    guardEntry(KEY, { request: hooks, response: hooks }),
    guardEntry('requests', { request: hooks }),
  ]
  service = guardService(entries, guardrails(pools, verdicts))
  server = await startProcServer(service)
})
afterEach(async () => {
  await server.close()
  await pools.close()
  await hook.close()
})

const FULL_DUPLEX = {
  requestBodyMode: BodySendMode.FULL_DUPLEX_STREAMED,
  responseBodyMode: BodySendMode.FULL_DUPLEX_STREAMED,
}
const post = (): Message => request('POST', '/v1/chat/completions', { config: FULL_DUPLEX })
const reply = (
  headers: Readonly<Record<string, string>> = {},
  protocolConfig?: Message['protocolConfig'],
): Message => ({
  ...(protocolConfig && { protocolConfig }),
  request: {
    case: 'responseHeaders',
    value: { headers: headerMap({ ':status': '200', ...headers }), endOfStream: false },
  },
})
const replyBody = (content: string, endOfStream = true): Message => ({
  request: { case: 'responseBody', value: { body: Buffer.from(content), endOfStream } },
})
const wasAsked = (count = 1) => eventually(() => expect(asked).toHaveLength(count))

test('nothing is forwarded while the webhook is asked', async () => {
  const stream = server.open(KEY)
  stream.send(post(), body(PROMPT))
  await wasAsked()
  expect(stream.responses).toEqual([])
  asked[0]?.end('{"action":{}}')
  expect((await stream.next()).response.case).toBe('requestHeaders')
  expect((await stream.next()).response.case).toBe('requestBody')
  stream.cancel()
})

test('a client that leaves takes the webhook call with it, and is no verdict', async () => {
  const stream = server.open(KEY)
  stream.send(post(), body(PROMPT))
  await wasAsked()
  const gone = new Promise((resolve) => asked[0]?.on('close', resolve))
  stream.cancel()
  await gone
  expect(verdicts).toEqual([])
})

test('a drain in the middle of a call refuses its request, and never ends with OK', async () => {
  const stream = server.open(KEY)
  stream.send(post(), body(PROMPT))
  await wasAsked()
  await service.drain?.(0)
  expect((await stream.end).code).toBe(status.UNAVAILABLE)
  expect(stream.responses.map(replyIn)).toMatchObject([{ status: 503 }])
})

test('a stream that is half-closed before its answer does not end with OK', async () => {
  const stream = server.open(KEY)
  stream.send(post())
  stream.halfClose()
  expect((await stream.end).code).toBe(status.UNAVAILABLE)
  expect(stream.responses.map(replyIn)).toMatchObject([{ status: 503 }])
})

const id = { 'x-request-id': 'id-1' }
test.each([
  [
    'a prompt',
    request('POST', '/v1/chat/completions', {
      headers: id,
      config: { ...FULL_DUPLEX, requestBodyMode: BodySendMode.BUFFERED },
    }),
    { ...id, 'retry-after': '1' },
  ],
  [
    'a reply whose request was not seen',
    reply({}, { ...FULL_DUPLEX, responseBodyMode: BodySendMode.BUFFERED }),
    { 'retry-after': '1' },
  ],
])(
  '%s in a mode in which headers would leave before the body: 503',
  async (_, message, headers) => {
    const stream = server.open(KEY)
    stream.send(message)
    expect((await stream.end).code).toBe(status.INTERNAL)
    expect(stream.responses.map(replyIn)).toMatchObject([{ status: 503, headers }])
  },
)

test('bodies that end with trailers are held and guarded too', async () => {
  const stream = server.open(KEY)
  stream.send(post(), body(PROMPT, false), { request: { case: 'requestTrailers', value: {} } })
  await wasAsked()
  asked[0]?.end('{"action":{}}')
  const cases = [await stream.next(), await stream.next(), await stream.next()]
  expect(cases.map(({ response }) => response.case)).toEqual([
    'requestHeaders',
    'requestBody',
    'requestTrailers',
  ])
  stream.send(reply(), replyBody('{"choices":[{"message":{"content":"x"}}]}', false), {
    request: { case: 'responseTrailers', value: {} },
  })
  await wasAsked(2)
  expect(stream.responses).toHaveLength(3)
  asked[1]?.end('{"action":{"body":"no","status_code":403}}')
  await eventually(() => expect(stream.responses).toHaveLength(6))
  expect(JSON.stringify(stream.responses.slice(3).map(({ response }) => response.case))).toBe(
    '["responseHeaders","responseBody","responseTrailers"]',
  )
  stream.cancel()
})

test('a refused request is answered once, whatever follows it', async () => {
  const stream = server.open(KEY)
  stream.send(post(), body('x'.repeat(2 * 1024 * 1024), false), body('{}'))
  expect(replyIn(await stream.next()).status).toBe(413)
  stream.halfClose()
  expect((await stream.end).code).toBe(status.OK)
  expect(stream.responses).toHaveLength(1)
})

test('a reply without a request is guarded: an earlier filter may have answered', async () => {
  const stream = server.open(KEY)
  stream.send(reply({}, FULL_DUPLEX), replyBody('{"choices":[{"message":{"content":"x"}}]}'))
  await wasAsked()
  expect(stream.responses).toEqual([])
  stream.cancel()
})

test('without response webhooks a stream passes as it comes', async () => {
  const stream = server.open('requests')
  stream.send(post(), body('{"stream":true,"messages":[]}'))
  await wasAsked()
  asked[0]?.end('{"action":{}}')
  await eventually(() => expect(stream.responses).toHaveLength(2))
  stream.send(reply({ 'content-type': 'text/event-stream' }), replyBody('data: 1\n\n', false))
  await eventually(() => expect(stream.responses).toHaveLength(4))
  stream.send(replyBody(''))
  await eventually(() => expect(stream.responses).toHaveLength(5))
  stream.cancel()
})
