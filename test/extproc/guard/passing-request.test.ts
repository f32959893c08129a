// A route that guards replies alone: its requests pass as they come, and say how many choices a streamed reply has.

import { gzipSync } from 'node:zlib'
import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, test, vi } from 'vitest'
import * as decoding from '../../../src/extproc/encodings/decode-reply.js'
import { createGuardProcessor } from '../../../src/extproc/guard/guard-processor.js'
import { PassingRequest } from '../../../src/extproc/guard/request-guard.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import { ProcessingResponseSchema } from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { maskingPools } from '../sse/masking-pools.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const MAX = 100_000
const CONFIG = { requestBodyMode: 4, responseBodyMode: 4 }
/** Two choices, in turns. */
const REPLY = [
  ...[0, 1, 0, 1].map((index, at) => ({
    object: 'chat.completion.chunk',
    choices: [{ index, delta: { content: ['sword', 'fi', 'sh', 'ermen'][at] } }],
  })),
  '[DONE]',
]
const BOTH = ['swordsh', 'fiermen']

interface Setting {
  readonly encoding?: string
  readonly hasTrailers?: boolean
  readonly heldBytes?: ReturnType<typeof createHeldBytes>
  /** Whether the client leaves when the reply begins. */
  readonly leaves?: boolean
}

interface Exchange {
  readonly shown: readonly string[]
  /** Pieces of the request, as they went on, and of the reply. */
  readonly passed: readonly string[]
  readonly reply: readonly string[]
  readonly held: number
}

/** Sends a request in two pieces and the reply to it. */
async function exchange(request: Uint8Array, setting: Setting = {}): Promise<Exchange> {
  const { encoding = '', hasTrailers = false, heldBytes = createHeldBytes(1e7) } = setting
  const [shown, passed, reply]: string[][] = [[], [], []]
  const signal = new OwnEnding()
  const send = (bytes: Uint8Array): void => {
    const { response } = fromBinary(ProcessingResponseSchema, bytes)
    if (response.case !== 'requestBody' && response.case !== 'responseBody') return
    const { mutation } = response.value.response?.bodyMutation ?? {}
    if (mutation?.case !== 'streamedResponse') return
    const piece = Buffer.from(mutation.value.body).toString('latin1')
    if (response.case === 'requestBody') passed?.push(piece)
    else reply?.push(piece)
  }
  const processor = createGuardProcessor(
    compileGuard(guardEntry('k', { response: [webhook(1, { minIntervalMs: 0 })] })),
    { send, signal },
    {
      ...guardrails(maskingPools((text) => text, shown)),
      now: () => 0,
      logger: silent,
      maxBodyBytes: MAX,
      heldBytes,
    },
  )
  const headers = new Map([
    [':method', ['POST']],
    [':path', ['/v1/chat/completions']],
    ['content-type', ['application/json']],
    ...(encoding === '' ? [] : [['content-encoding', [encoding]] as const]),
  ] as const)
  await processor.requestHeaders({ headers, endOfStream: false }, { config: CONFIG })
  const half = Math.ceil(request.length / 2)
  const part = (from: number, to?: number): Buffer => Buffer.from(request.subarray(from, to))
  await processor.requestBody({ body: part(0, half), endOfStream: false })
  expect(passed).toEqual([part(0, half).toString('latin1')])
  await processor.requestBody({ body: part(half), endOfStream: !hasTrailers })
  if (hasTrailers) await processor.requestTrailers()
  const answered = new Map([
    [':status', ['200']],
    ['content-type', ['text/event-stream']],
  ])
  const begun = processor.responseHeaders(
    { headers: answered, endOfStream: false },
    {
      config: CONFIG,
    },
  )
  if (setting.leaves === true) signal.abort()
  await begun
  if (setting.leaves !== true) {
    const data = REPLY.map((event) => (typeof event === 'string' ? event : JSON.stringify(event)))
    const body = Buffer.from(data.map((event) => `data: ${event}\n\n`).join(''))
    await processor.responseBody({ body, endOfStream: true })
  }
  const held = heldBytes.held()
  signal.abort()
  return { shown: shown ?? [], passed: passed ?? [], reply: reply ?? [], held }
}

const chat = (more: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ model: 'm', messages: [], stream: true, ...more }))

/** Whether the webhook was shown the choices as one text. */
const isOne = ({ shown }: Exchange): boolean =>
  shown.some((text) => text.includes('swordfishermen'))

describe('choices of other indexes are other texts', () => {
  test.each<[string, Buffer, Setting?]>([
    ['n', chat({ n: 2 })],
    ['n, compressed', gzipSync(chat({ n: 2 })), { encoding: 'gzip' }],
    ['n, with trailers', chat({ n: 2 }), { hasTrailers: true }],
    ['prompts', chat({ prompt: ['a', 'b'] })],
  ])('if more were asked for: %s', async (_name, request, setting) => {
    const came = await exchange(request, setting)
    expect(isOne(came)).toBe(false)
    expect(came.shown).toEqual(
      expect.arrayContaining(BOTH.map((text) => expect.stringContaining(text) as string)),
    )
    expect(came.passed.join('')).toBe(request.toString('latin1'))
    expect(came.held).toBe(0)
  })
})

describe('choices of other indexes are one text', () => {
  test.each<[string, Buffer, Setting?]>([
    ['asks for none', chat()],
    ['asks for one', chat({ n: 1 })],
    ['asks for null', chat({ n: null })],
    ['is not JSON', Buffer.from('{"n": 2')],
    ['is damaged', gzipSync(chat({ n: 2 })).subarray(0, 30), { encoding: 'gzip' }],
    ['is encoded as nobody knows', chat({ n: 2 }), { encoding: 'of-tomorrow' }],
    ['is too large', chat({ n: 2, user: 'u'.repeat(MAX) })],
    ['has no room', chat({ n: 2 }), { heldBytes: createHeldBytes(10) }],
    ['has no room to be read', chat({ n: 2 }), { heldBytes: createHeldBytes(100) }],
  ])('if the request %s', async (_name, request, setting) => {
    const came = await exchange(request, setting)
    // Without room for anything, the reply ends with an error.
    expect(came.shown.length === 0 || isOne(came)).toBe(true)
    expect(came.reply.length > 0 || came.shown.length === 0).toBe(true)
    expect(came.passed.join('')).toBe(request.toString('latin1'))
  })

  test('if reading it throws', async () => {
    vi.spyOn(decoding, 'decodeReply').mockRejectedValueOnce(new Error('a bug'))
    expect(isOne(await exchange(gzipSync(chat({ n: 2 })), { encoding: 'gzip' }))).toBe(true)
  })
})

test('a client that leaves while its request is read: nothing is begun or held', async () => {
  const heldBytes = createHeldBytes(1e7)
  const setting = { heldBytes, encoding: 'gzip', leaves: true }
  expect(await exchange(gzipSync(chat({ n: 2 })), setting)).toMatchObject({ shown: [], reply: [] })
  await vi.waitFor(() => expect(heldBytes.held()).toBe(0))
})

test('a body that comes too slowly is not held, and asks for one choice', async () => {
  const heldBytes = createHeldBytes(1e7)
  const limits = { maxBodyBytes: MAX, heldBytes, bodyTimeoutMs: 10 }
  const request = new PassingRequest('', limits, new OwnEnding())
  const body = chat({ n: 2 })
  request.add(body.subarray(0, 10))
  expect(heldBytes.held()).toBe(10)
  await vi.waitFor(() => expect(heldBytes.held()).toBe(0))
  request.add(body.subarray(10))
  request.end()
  expect([request.isOneChoice(), heldBytes.held()]).toEqual([true, 0])
})

test('copies leave half of the budget to bodies that have to be held, and count as no refusal', () => {
  const onFull = vi.fn()
  const heldBytes = createHeldBytes(100, undefined, onFull)
  const limits = { maxBodyBytes: MAX, heldBytes, bodyTimeoutMs: 60_000 }
  const ending = new OwnEnding()
  const request = new PassingRequest('', limits, ending)
  request.add(Buffer.alloc(50))
  expect(heldBytes.held()).toBe(50)
  request.add(Buffer.alloc(1))
  expect([heldBytes.held(), heldBytes.open().add(100)]).toEqual([0, true])
  expect(onFull).not.toHaveBeenCalled()
  ending.abort()
})
