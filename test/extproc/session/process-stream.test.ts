// One stream with a test processor: phases run one after another, and an end stops everything.

import { create, toBinary } from '@bufbuild/protobuf'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runProcessStream } from '../../../src/extproc/session/process-stream.js'
import type { Processor, ProcessorStream } from '../../../src/extproc/session/processor.js'
import {
  ExternalProcessor,
  ProcessingResponseSchema,
} from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { body, replyIn, request } from '../support/messages.js'
import { type ProcServer, startProcServer } from '../support/stream.js'

const ANSWER = toBinary(
  ProcessingResponseSchema,
  create(ProcessingResponseSchema, { response: { case: 'requestBody', value: {} } }),
)

const phases: string[] = []
const errors: unknown[] = []
/** One element for each end that the streams of this test reported. */
let ended: number[]
let streams: ProcessorStream[]
/** Continues the waiting phase. */
let proceed: () => void
let server: ProcServer

/** A processor whose phases report their beginning, wait, and then answer. */
function slow(stream: ProcessorStream): Processor {
  const phase = (name: string) => async () => {
    phases.push(`${name} begins`)
    await new Promise<void>((resolve) => (proceed = resolve))
    phases.push(`${name} ends`)
    stream.send(ANSWER)
  }
  return {
    requestHeaders: phase('headers'),
    requestBody: phase('body'),
    requestTrailers: phase('trailers'),
    responseHeaders: phase('response headers'),
    responseBody: phase('response body'),
    responseTrailers: phase('response trailers'),
    isDone: () => false,
  }
}

/** Resolves when the current phase has begun to wait. */
async function begun(text: string): Promise<void> {
  while (phases.at(-1) !== text) await new Promise((resolve) => setImmediate(resolve))
}

beforeEach(async () => {
  const own: number[] = []
  phases.length = 0
  errors.length = 0
  // New for each test: streams of the previous one may end late.
  ended = own
  streams = []
  server = await startProcServer({
    name: ExternalProcessor.typeName,
    methods: {
      Process: {
        type: 'stream',
        open: (call) => {
          const { listener } = runProcessStream(call, {
            createProcessor: (stream) => {
              streams.push(stream)
              return slow(stream)
            },
            onError: (error) => errors.push(error),
            onFailed: () => undefined,
            onEnd: () => own.push(1),
          })
          return listener
        },
      },
    },
  })
})
afterEach(() => server.close())

test('a phase begins when the one before it has settled', async () => {
  const stream = server.open()
  stream.send(request('POST', '/'), body('a'), body('b'))
  await begun('headers begins')
  proceed()
  await stream.next()
  await begun('body begins')
  expect(phases).toEqual(['headers begins', 'headers ends', 'body begins'])
  proceed()
  await stream.next()
  await begun('body begins')
  proceed()
  await stream.next()
  expect(phases.slice(3)).toEqual(['body ends', 'body begins', 'body ends'])
})

test('a stream that Envoy cancels begins no more phases and sends nothing', async () => {
  const stream = server.open()
  stream.send(request('POST', '/'), body('a'))
  await begun('headers begins')
  const [own] = streams
  const aborted = new Promise((resolve) =>
    own?.signal.addEventListener('abort', () => resolve(undefined)),
  )
  stream.cancel()
  await aborted
  proceed()
  expect((await stream.end).code).toBe(status.CANCELLED)
  await begun('headers ends')
  expect(phases).toEqual(['headers begins', 'headers ends'])
  expect([stream.responses.length, ended.length, errors.length]).toEqual([0, 1, 0])
})

test('a bug in a part of a stream that ends keeps neither the others nor the stream', async () => {
  const stream = server.open()
  stream.send(request('POST', '/'))
  await begun('headers begins')
  const [own] = streams
  own?.signal.addEventListener('abort', () => {
    throw new Error('a bug')
  })
  const released = new Promise((resolve) =>
    own?.signal.addEventListener('abort', () => resolve(undefined)),
  )
  stream.cancel()
  await released
  proceed()
  await begun('headers ends')
  expect([ended.length, errors]).toEqual([1, [new Error('a bug')]])
})

test('a stream that is half-closed with an answer owed is refused, and ends with an error', async () => {
  const stream = server.open()
  stream.send(request('POST', '/'))
  stream.halfClose()
  await begun('headers begins')
  proceed()
  expect((await stream.end).code).toBe(status.UNAVAILABLE)
  const last = stream.responses.at(-1)
  expect(last && replyIn(last).status).toBe(503)
  expect([stream.responses.length, ended.length]).toEqual([2, 1])
})
