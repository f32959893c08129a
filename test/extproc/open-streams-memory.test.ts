// What an open guarded stream retains, in heap bytes after a full collection. Neither timing nor uncollected garbage
// affects the result.

import { create, toBinary } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { createProcessService } from '../../src/extproc/process-service.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../src/wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { ProcessingRequestSchema } from '../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type { StreamCall, StreamListener } from '../../src/wire/grpc/service.js'
import { eventually } from '../../testing/eventually.js'
import { guardEntry, guardrails, webhook } from './support/guards.js'
import { heapUsed } from './support/heap.js'
import { body, headerMap, request } from './support/messages.js'
import { buildProcTable } from './support/proc-table.js'
import { type Message, silent } from './support/stream.js'

const STREAMS = 300
const EVENTS = 100
/** One of the last words of a reply that may leave; what follows is held back. */
const LAST_FREE = Buffer.from(' word60"')
/** Less than the limit of an open stream, as the young generation and sockets are added to it. */
const MOST_KEPT = 70 * 1024

const bytesOf = (message: Message): Buffer =>
  Buffer.from(toBinary(ProcessingRequestSchema, create(ProcessingRequestSchema, message)))

const PROMPT = JSON.stringify({
  stream: true,
  messages: [{ role: 'user', content: 'A sentence of a prompt. '.repeat(70) }],
})
const FULL_DUPLEX = {
  requestBodyMode: BodySendMode.FULL_DUPLEX_STREAMED,
  responseBodyMode: BodySendMode.FULL_DUPLEX_STREAMED,
}
const REQUEST = [
  bytesOf(request('POST', '/v1/chat/completions', { config: FULL_DUPLEX })),
  bytesOf(body(PROMPT)),
]
const event = (content: string): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'bench',
    choices: [{ index: 0, delta: { content }, finish_reason: null }],
  })}\n\n`
const headers = headerMap({ ':status': '200', 'content-type': 'text/event-stream' })
const RESPONSE = [
  bytesOf({ request: { case: 'responseHeaders', value: { headers } } }),
  ...Array.from({ length: EVENTS }, (_, index) =>
    bytesOf({
      request: { case: 'responseBody', value: { body: Buffer.from(event(` word${index}`)) } },
    }),
  ),
]

/** A stream of Envoy that sends each message when the previous one has been taken. */
class FakeStream {
  readonly #listener: StreamListener
  readonly #waiting: Buffer[] = []
  #isPaused = false
  sent = 0
  hasSentAllThatIsFree = false

  constructor(open: (call: StreamCall) => StreamListener) {
    const call: StreamCall = {
      peer: { type: 'unix' } as never,
      deadline: Infinity,
      isCancelled: () => false,
      metadata: () => ['k'],
      send: (message) => {
        this.sent += 1
        this.hasSentAllThatIsFree ||= Buffer.from(message).includes(LAST_FREE)
        return true
      },
      sendParts: () => expect.unreachable('a message in parts'),
      end: () => expect.unreachable('the stream ended'),
      pause: () => void (this.#isPaused = true),
      resume: () => {
        this.#isPaused = false
        this.#deliver()
      },
    }
    this.#listener = open(call)
  }

  say(messages: readonly Buffer[]): void {
    // Each has its own memory, as if it arrived from a socket.
    this.#waiting.push(...messages.map((message) => Buffer.from(message)))
    this.#deliver()
  }

  isIdle(): boolean {
    return this.#waiting.length === 0 && !this.#isPaused
  }

  cancel(): void {
    this.#listener.onCancel()
  }

  #deliver(): void {
    while (!this.#isPaused) {
      const message = this.#waiting.shift()
      if (message === undefined) return
      this.#listener.onMessage(message)
    }
  }
}

test('an open stream keeps no more than what it holds back, and nothing when it is gone', async () => {
  const answer = { status: 200, headers: {}, body: [Buffer.from('{"action":{}}')] }
  const pools = {
    call: () => Promise.resolve({ ok: true, value: answer } as never),
    close: () => Promise.resolve(),
  }
  const hooks = [webhook(1)]
  const table = buildProcTable([guardEntry('k', { request: hooks, response: hooks })])
  const service = createProcessService({
    table: () => table,
    callRemote: () => Promise.reject(new Error('no call expected')),
    guardrails: { ...guardrails(pools), metrics: { verdict: () => {} } },
    now: () => 0,
    logger: silent,
  })
  const method = service.methods['Process']
  if (method?.type !== 'stream') throw new Error('no stream')
  const open = async (count: number): Promise<FakeStream[]> => {
    const streams = Array.from({ length: count }, () => new FakeStream((call) => method.open(call)))
    for (const stream of streams) stream.say(REQUEST)
    await eventually(() => expect(streams.every(({ sent }) => sent === 2)).toBe(true))
    for (const stream of streams) stream.say(RESPONSE)
    await eventually(() => expect(streams.every((stream) => stream.isIdle())).toBe(true))
    await eventually(() =>
      expect(streams.every(({ hasSentAllThatIsFree }) => hasSentAllThatIsFree)).toBe(true),
    )
    return streams
  }
  const close = (streams: readonly FakeStream[]): void => {
    for (const stream of streams) stream.cancel()
  }
  close(await open(STREAMS))
  const before = await heapUsed()
  const streams = await open(STREAMS)
  const during = await heapUsed()
  close(streams)
  streams.length = 0
  const after = await heapUsed()
  expect((during - after) / STREAMS).toBeLessThan(MOST_KEPT)
  expect((after - before) / STREAMS).toBeLessThan(4 * 1024)
})
