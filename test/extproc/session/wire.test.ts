// The hand-written codec of ext_proc's messages agrees with the generated code for any message.

import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  sendBody,
  sendHeaders,
  sendText,
  sendTrailers,
} from '../../../src/extproc/session/guard-messages.js'
import { AWAIT_BODY, immediateResponse } from '../../../src/extproc/session/immediate-response.js'
import { readProcessMessage } from '../../../src/extproc/session/process-message.js'
import { MetadataSchema } from '../../../src/wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  ProcessingRequestSchema,
  ProcessingResponseSchema,
} from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { runs } from '../../support/runs.js'

const text = fc.string({ unit: 'binary', maxLength: 20 })
const latin1 = fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes))
const name = fc.stringMatching(/^:?[A-Za-z][A-Za-z0-9-]{0,12}$/)
const phase = fc.constantFrom('request' as const, 'response' as const)

type Request = NonNullable<MessageInitShape<typeof ProcessingRequestSchema>['request']>

const headers = fc.record({
  headers: fc.record({
    headers: fc.array(fc.record({ key: name, value: text, rawValue: latin1 }), { maxLength: 5 }),
  }),
  endOfStream: fc.boolean(),
})
const content = fc.record({ body: fc.uint8Array({ maxLength: 300 }), endOfStream: fc.boolean() })
const trailers = headers.map((value) => ({ trailers: value.headers }))
const request: fc.Arbitrary<Request> = fc.oneof(
  headers.map((value) => ({ case: 'requestHeaders' as const, value })),
  headers.map((value) => ({ case: 'responseHeaders' as const, value })),
  content.map((value) => ({ case: 'requestBody' as const, value })),
  content.map((value) => ({ case: 'responseBody' as const, value })),
  trailers.map((value) => ({ case: 'requestTrailers' as const, value })),
  trailers.map((value) => ({ case: 'responseTrailers' as const, value })),
  fc.constant({ case: undefined }),
)
const mode = fc.nat(4)
const message = fc.record({
  request,
  protocolConfig: fc.option(
    fc.record({
      requestBodyMode: mode,
      responseBodyMode: mode,
      sendBodyWithoutWaitingForHeaderResponse: fc.boolean(),
    }),
    { nil: undefined },
  ),
  metadataContext: fc.option(
    fc
      .dictionary(text, fc.dictionary(text, fc.string({ maxLength: 20 })))
      .map((filterMetadata) => ({
        filterMetadata,
      })),
    { nil: undefined },
  ),
  observabilityMode: fc.boolean(),
})

test('a ProcessingRequest is read as the generated decoder reads it', () => {
  fc.assert(
    fc.property(message, (parts) => {
      const bytes = Buffer.from(
        toBinary(
          ProcessingRequestSchema,
          create(
            ProcessingRequestSchema,
            parts as MessageInitShape<typeof ProcessingRequestSchema>,
          ),
        ),
      )
      const generated = fromBinary(ProcessingRequestSchema, bytes)
      const read = readProcessMessage(bytes)
      expect(read.part).toBe(generated.request.case)
      if ('endOfStream' in (generated.request.value ?? {}))
        expect(read.endOfStream).toBe(
          (generated.request.value as { endOfStream: boolean }).endOfStream,
        )
      const { case: part, value } = generated.request
      if (part === 'requestBody' || part === 'responseBody')
        expect(Buffer.compare(read.body, value.body)).toBe(0)
      if (part === 'requestHeaders' || part === 'responseHeaders') {
        const expected: [string, string][] = (value.headers?.headers ?? []).map((header) => [
          header.key.toLowerCase(),
          header.rawValue.length > 0
            ? Buffer.from(header.rawValue).toString('latin1')
            : header.value,
        ])
        const names = [...new Set(expected.map(([key]) => key))]
        expect([...read.headers]).toEqual(
          names.map((key) => [key, expected.filter(([own]) => own === key).map(([, own]) => own)]),
        )
      }
      const { protocolConfig: config } = generated
      expect(read.config).toEqual(
        config && {
          requestBodyMode: config.requestBodyMode,
          responseBodyMode: config.responseBodyMode,
        },
      )
      expect(read.metadata && fromBinary(MetadataSchema, read.metadata)).toEqual(
        generated.metadataContext,
      )
    }),
    { numRuns: runs(300) },
  )
})

test('two parts in one message are an error: one of them would go unseen', () => {
  const part = (value: Request) =>
    toBinary(ProcessingRequestSchema, create(ProcessingRequestSchema, { request: value }))
  const body = part({ case: 'requestBody', value: { body: Buffer.from('a') } })
  const other = part({ case: 'responseBody', value: { body: Buffer.from('b') } })
  for (const second of [body, other])
    expect(() => readProcessMessage(Buffer.concat([body, second]))).toThrow(RangeError)
})

test('whatever the bytes, reading them ends with a message or a RangeError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        readProcessMessage(Buffer.from(bytes))
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError)
      }
    }),
    { numRuns: runs(1000) },
  )
})

/** The messages sent, decoded immediately: each is overwritten by the next. */
function sent(write: (send: (bytes: Uint8Array) => void) => void) {
  const messages: ReturnType<typeof fromBinary<typeof ProcessingResponseSchema>>[] = []
  write((bytes) => messages.push(fromBinary(ProcessingResponseSchema, Buffer.from(bytes))))
  return messages
}

test('headers are written as the generated decoder reads them', () => {
  const bytes = latin1.map((value) => value.toString('latin1'))
  fc.assert(
    fc.property(phase, fc.dictionary(name, bytes), fc.array(name), (own, set, remove) => {
      const [one, ...more] = sent((send) => sendHeaders({ send }, own, { set, remove }))
      expect(more).toEqual([])
      expect(one?.response.case).toBe(`${own}Headers`)
      const mutation =
        one?.response.case === 'requestHeaders' || one?.response.case === 'responseHeaders'
          ? one.response.value.response?.headerMutation
          : undefined
      expect(mutation?.removeHeaders).toEqual(remove)
      expect(
        mutation?.setHeaders.map(({ header, appendAction }) => [
          header?.key,
          Buffer.from(header?.rawValue ?? []).toString('latin1'),
          appendAction,
        ]),
      ).toEqual(Object.entries(set).map(([key, value]) => [key, value, 2]))
    }),
  )
})

test.each([true, false])('the route is chosen again on request: %s', (choosesRoute) => {
  const [one] = sent((send) => sendHeaders({ send }, 'request', { set: { a: 'b' }, choosesRoute }))
  const common = one?.response.case === 'requestHeaders' ? one.response.value.response : undefined
  expect(common?.clearRouteCache).toBe(choosesRoute)
  expect(common?.headerMutation?.setHeaders.map(({ header }) => header?.key)).toEqual(['a'])
})

interface Piece {
  readonly body: Uint8Array
  readonly endOfStream: boolean
}

function piecesOf(own: 'request' | 'response', messages: ReturnType<typeof sent>): Piece[] {
  return messages.map(({ response }) => {
    expect(response.case).toBe(`${own}Body`)
    const value =
      response.case === 'requestBody' || response.case === 'responseBody'
        ? response.value.response?.bodyMutation?.mutation
        : undefined
    if (value?.case !== 'streamedResponse') throw new Error('no piece of a body')
    return value.value
  })
}

test.each([0, 1, 127, 128, 65_535, 65_536, 65_537, 200_000])(
  'a body of %d bytes is written in pieces that Envoy takes, and ends once',
  (length) => {
    const body = Buffer.alloc(length, 'ab')
    for (const own of ['request', 'response'] as const)
      for (const isLast of [true, false])
        for (const write of [
          (send: (bytes: Uint8Array) => void) => sendBody(send, own, body, isLast),
          (send: (bytes: Uint8Array) => void) => sendText(send, own, body.toString(), isLast),
        ]) {
          const pieces = piecesOf(own, sent(write))
          expect(pieces.length).toBe(Math.max(1, Math.ceil(length / 65_536)))
          expect(Buffer.concat(pieces.map((piece) => piece.body)).equals(body)).toBe(true)
          expect(pieces.map(({ endOfStream }) => endOfStream)).toEqual(
            pieces.map((_, index) => isLast && index === pieces.length - 1),
          )
        }
  },
)

test('a text of any characters is written as UTF-8', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (said) => {
      const [piece] = piecesOf(
        'response',
        sent((send) => sendText(send, 'response', said, true)),
      )
      expect(Buffer.from(piece?.body ?? []).toString()).toBe(said)
    }),
  )
})

test('trailers, the answer that asks for a body, and a reply in place of all', () => {
  const cases = sent((send) => {
    sendTrailers(send, 'request')
    sendTrailers(send, 'response')
    send(AWAIT_BODY)
    const reply = { status: 503, headers: { 'x-a': 'é' }, body: Buffer.from('b'), details: 'why' }
    send(immediateResponse(reply))
  })
  const [, , , reply] = cases
  expect(cases.map(({ response }) => response.case)).toEqual([
    'requestTrailers',
    'responseTrailers',
    'requestHeaders',
    'immediateResponse',
  ])
  if (reply?.response.case !== 'immediateResponse') throw new Error('no reply')
  const { status, headers: mutation, body, details } = reply.response.value
  expect([status?.code, Buffer.from(body).toString(), details]).toEqual([503, 'b', 'why'])
  expect(
    mutation?.setHeaders.map(({ header, appendAction }) => [
      header?.key,
      Buffer.from(header?.rawValue ?? []).toString(),
      appendAction,
    ]),
  ).toEqual([
    ['x-a', 'é', 2],
    ['x-content-type-options', 'nosniff', 2],
  ])
})
