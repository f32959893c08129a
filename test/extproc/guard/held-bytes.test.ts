// The total held for guarded bodies: never more than the budget, and zero after they end.

import type { ServerResponse } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createHeldBytes, type HeldBytes } from '../../../src/extproc/session/held-bytes.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { nextTurn } from '../../../src/kit/turns.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../../src/wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { eventually } from '../../../testing/eventually.js'
import { type HttpServer, startHttpServer } from '../../support/http-server.js'
import { guardService } from '../support/guard-service.js'
import { guardEntry, guardrails, plainPools, webhook } from '../support/guards.js'
import { body, headerMap, replyIn, request } from '../support/messages.js'
import { type Message, type ProcServer, startProcServer } from '../support/stream.js'

const KEY = 'default/llm/0'
const K = 1024
const BUDGET = 300 * K
const FULL = BodySendMode.FULL_DUPLEX_STREAMED

let asked: ServerResponse[]
let hook: HttpServer
let pools: WebhookPools
let server: ProcServer
let heldBytes: HeldBytes

async function start(budget: number, bodyTimeoutMs = 60_000): Promise<void> {
  heldBytes = createHeldBytes(budget)
  const hooks = [webhook(hook.port, { maxConnections: 0 })]
  const entries = [
    guardEntry(KEY, { request: hooks, response: hooks }),
    guardEntry('requests', { request: hooks }),
    guardEntry('replies', { response: hooks }),
  ]
  const service = guardService(entries, { ...guardrails(pools), heldBytes, bodyTimeoutMs })
  server = await startProcServer(service)
}

beforeEach(async () => {
  asked = []
  hook = await startHttpServer((_request, response) => asked.push(response))
  pools = plainPools()
})
afterEach(async () => {
  await server.close()
  await pools.close()
  await hook.close()
})

const post = (responseBodyMode = FULL): Message =>
  request('POST', '/v1/chat/completions', {
    config: { requestBodyMode: FULL, responseBodyMode },
  })
const reply: Message = {
  request: {
    case: 'responseHeaders',
    value: { headers: headerMap({ ':status': '200' }), endOfStream: false },
  },
}
const chat = (size: number): string =>
  JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(size) }] })
const allow = (response: ServerResponse | undefined) => response?.end('{"action":{}}')
const isHeld = (bytes: number) => eventually(() => expect(heldBytes.held()).toBe(bytes))

describe('beyond the budget', () => {
  beforeEach(() => start(BUDGET))

  test('a request is 503, to be tried again, and one that is held already goes on', async () => {
    const [first, second] = [server.open(KEY), server.open(KEY)]
    first.send(post(), body(' '.repeat(200 * K), false))
    await isHeld(200 * K)
    second.send(post(), body(' '.repeat(150 * K), false))
    const refused = replyIn(await second.next())
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
    expect(refused.json).toMatchObject({ error: { code: 'guardrail_busy' } })
    await isHeld(200 * K)
    first.cancel()
    await isHeld(0)
  })

  test('a whole one is too where there is no room for its text and the question', async () => {
    const stream = server.open(KEY)
    stream.send(post(), body(chat(150 * K)))
    expect(replyIn(await stream.next()).status).toBe(503)
    expect(asked).toEqual([])
    await isHeld(0)
    stream.cancel()
  })

  test('a prompt that waits for its webhook counts three times, until it is answered', async () => {
    const stream = server.open('requests')
    const prompt = chat(50 * K)
    stream.send(post(), body(prompt))
    await eventually(() => expect(asked).toHaveLength(1))
    expect(heldBytes.held()).toBe(3 * prompt.length)
    const other = server.open('requests')
    other.send(post(), body(chat(50 * K)))
    expect(replyIn(await other.next()).status).toBe(503)
    allow(asked[0])
    expect((await stream.next()).response.case).toBe('requestHeaders')
    await isHeld(0)
    stream.cancel()
    other.cancel()
  })

  test('a reply is 503, and the client of it may try again', async () => {
    const stream = server.open('replies')
    stream.send(request('GET', '/v1/chat/completions', { config: { responseBodyMode: FULL } }))
    await stream.next()
    stream.send(reply, {
      request: {
        case: 'responseBody',
        value: { body: Buffer.alloc(BUDGET + 1, ' '), endOfStream: false },
      },
    })
    const { response } = await stream.next()
    const set =
      response.case === 'responseHeaders'
        ? response.value.response?.headerMutation?.setHeaders.map(({ header }) => [
            header?.key,
            Buffer.from(header?.rawValue ?? []).toString(),
          ])
        : []
    expect(set).toContainEqual([':status', '503'])
    expect(set).toContainEqual(['retry-after', '5'])
    await isHeld(0)
    stream.cancel()
  })
})

test('a body that does not come in time is 408, and nothing of it is held', async () => {
  await start(BUDGET, 20)
  const stream = server.open(KEY)
  stream.send(post(), body('{"messages":', false))
  expect(replyIn(await stream.next())).toMatchObject({ status: 408 })
  await isHeld(0)
  stream.send(body('[]}'))
  stream.halfClose()
  expect((await stream.end).code).toBe(status.OK)
  expect(stream.responses).toHaveLength(1)
})

test('one that has come waits for its webhook as long as that takes', async () => {
  await start(BUDGET, 20)
  const stream = server.open('requests')
  stream.send(post(), body(chat(10)))
  await eventually(() => expect(asked).toHaveLength(1))
  // It began later, and the time for its body is over too.
  const late = server.open('requests')
  late.send(post(), body('{"messages":', false))
  expect(replyIn(await late.next())).toMatchObject({ status: 408 })
  allow(asked[0])
  expect((await stream.next()).response.case).toBe('requestHeaders')
  stream.cancel()
})

test.each(['NONE', 'STREAMED', 'BUFFERED', 'BUFFERED_PARTIAL', 'GRPC'] as const)(
  'response webhooks beside an Envoy whose replies come as %s: 503, nothing passes unseen',
  async (mode) => {
    await start(BUDGET)
    for (const key of [KEY, 'replies']) {
      const stream = server.open(key)
      stream.send(post(BodySendMode[mode]))
      expect(replyIn(await stream.next())).toMatchObject({ status: 503 })
      expect((await stream.end).code).toBe(status.INTERNAL)
    }
    const requests = server.open('requests')
    requests.send(post(BodySendMode[mode]), body(chat(1)))
    await eventually(() => expect(asked).toHaveLength(1))
    requests.cancel()
  },
)

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('after a load of unfinished bodies and of prompts that waited, all memory is back', async () => {
  await start(Infinity)
  collect()
  const before = process.memoryUsage().arrayBuffers
  const streams = Array.from({ length: 60 }, (_, at) => {
    const stream = server.open('requests')
    const isWhole = at % 2 === 0
    stream.send(post(), body(isWhole ? chat(512 * K) : ' '.repeat(512 * K), isWhole))
    return stream
  })
  await eventually(() => expect(asked).toHaveLength(30))
  await eventually(() => expect(heldBytes.held()).toBeGreaterThan(60 * 512 * K))
  expect(process.memoryUsage().arrayBuffers).toBeGreaterThan(before + 20 * 1024 * K)
  for (const stream of streams) stream.cancel()
  await isHeld(0)
  await eventually(() => {
    collect()
    expect(process.memoryUsage().arrayBuffers).toBeLessThan(before + 8 * 1024 * K)
  })
})

test('a client that leaves in any turn after the verdict: nothing is held, and the next is served', async () => {
  await start(100_000 * K)
  const content = 'b'.repeat(900_000)
  const modify = JSON.stringify({ action: { body: { messages: [{ role: 'user', content }] } } })
  for (let turns = 0; turns < 12; turns += 1) {
    asked = []
    const stream = server.open(KEY)
    stream.send(post(), body(chat(content.length), true))
    await eventually(() => expect(asked).toHaveLength(1))
    asked[0]?.end(modify)
    for (let turn = 0; turn < turns; turn += 1) await nextTurn()
    stream.cancel()
    await isHeld(0)
  }
  asked = []
  const last = server.open(KEY)
  last.send(post(), body(chat(10), true))
  await eventually(() => expect(asked).toHaveLength(1))
  allow(asked[0])
  expect((await last.next())?.response.case).toBe('requestHeaders')
  last.cancel()
  await isHeld(0)
})
