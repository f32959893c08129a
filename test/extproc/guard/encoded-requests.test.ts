// Bodies of requests with a Content-Encoding: webhooks and the LLM get them decoded, within the limits of all bodies; what
// cannot be decoded is refused.

import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib'
import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { createGuardProcessor } from '../../../src/extproc/guard/guard-processor.js'
import { createMcpGuardProcessor } from '../../../src/extproc/mcp/mcp-guard-processor.js'
import { createUncheckedBody } from '../../../src/extproc/mcp/unchecked-body.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import type { Processor } from '../../../src/extproc/session/processor.js'
import { compileGuard, compileWebhook } from '../../../src/extproc/webhook/compiled-guard.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ok } from '../../../src/kit/result.js'
import { ProcessingResponseSchema } from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const CHAT = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'a secret €' }] })
const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 't', arguments: { a: 'a secret €' } },
})
const MAX = 100_000

interface Sent {
  status: number
  body: string
  /** Headers that are set (with their value) or removed (null). */
  readonly headers: Record<string, string | null>
  readonly asked: string[]
}

interface Way {
  readonly text: string
  /** Whether webhooks see the body. */
  readonly isAsked: boolean
  /** Status of a body that cannot be decoded; 0: it goes on as it is, for the check to refuse. */
  readonly unreadable: number
}

const WAYS: Readonly<Record<'chat' | 'mcp' | 'check', Way>> = {
  chat: { text: CHAT, isAsked: true, unreadable: 400 },
  mcp: { text: CALL, isAsked: true, unreadable: 400 },
  check: { text: CALL, isAsked: false, unreadable: 0 },
}

interface Setting {
  readonly heldBytes?: ReturnType<typeof createHeldBytes>
  /** Whether the client leaves while the body is decoded. */
  readonly leaves?: boolean
}

/** Sends a body in pieces, with trailers or without. */
async function send(
  way: keyof typeof WAYS,
  body: Uint8Array,
  encoding: readonly string[],
  { heldBytes = createHeldBytes(1 << 24), leaves = false }: Setting = {},
): Promise<Sent> {
  const signal = new OwnEnding()
  const sent: Sent = { status: 0, body: '', headers: {}, asked: [] }
  const emit = (bytes: Uint8Array): void => {
    const { response } = fromBinary(ProcessingResponseSchema, bytes)
    if (response.case === 'immediateResponse') sent.status = response.value.status?.code ?? 0
    if (response.case === 'requestHeaders') {
      const mutation = response.value.response?.headerMutation
      for (const { header } of mutation?.setHeaders ?? [])
        if (header) sent.headers[header.key] = Buffer.from(header.rawValue).toString()
      for (const name of mutation?.removeHeaders ?? []) sent.headers[name] = null
    }
    if (response.case !== 'requestBody') return
    const { mutation } = response.value.response?.bodyMutation ?? {}
    if (mutation?.case === 'streamedResponse')
      sent.body += Buffer.from(mutation.value.body).toString('latin1')
  }
  const call: WebhookPools['call'] = ({ body: asked }) => {
    sent.asked.push(Buffer.from(asked).toString())
    return Promise.resolve(
      ok({ status: 200, headers: new Map(), body: [Buffer.from('{"action":{}}')] }),
    )
  }
  const deps = {
    ...guardrails({ call, close: () => Promise.resolve() }),
    now: () => 0,
    logger: silent,
    maxBodyBytes: MAX,
    heldBytes,
  }
  const stream = { send: emit, signal }
  const hooks = [compileWebhook(webhook(1))]
  const processors: Readonly<Record<keyof typeof WAYS, () => Processor>> = {
    chat: () =>
      createGuardProcessor(compileGuard(guardEntry('k', { request: [webhook(1)] })), stream, deps),
    mcp: () =>
      createMcpGuardProcessor(
        { type: 'mcp-guard', route: 'default/mcp', request: hooks, response: [] },
        stream,
        deps,
      ),
    check: () =>
      createUncheckedBody({ maxBodyBytes: MAX }, stream, {
        heldBytes,
        bodyTimeoutMs: 60_000,
        onRefused: () => undefined,
      }),
  }
  const processor = processors[way]()
  const headers = new Map([
    [':method', ['POST']],
    [':path', ['/v1/chat/completions']],
    ['content-type', ['application/json']],
    ['content-length', [String(body.length)]],
    ['content-encoding', [...encoding]],
    ['content-digest', ['sha-256=:x:']],
  ])
  const config = { requestBodyMode: 4, responseBodyMode: way === 'check' ? 0 : 4 }
  await processor.requestHeaders({ headers, endOfStream: false }, { config })
  const half = Math.ceil(body.length / 2)
  const part = (from: number, to: number): Buffer => Buffer.from(body.subarray(from, to))
  await processor.requestBody({ body: part(0, half), endOfStream: false })
  const last = processor.requestBody({ body: part(half, body.length), endOfStream: true })
  if (leaves) signal.abort()
  await last
  return sent
}

const ENCODERS: readonly (readonly [string, (text: string) => Uint8Array])[] = [
  ['zstd', (text) => zstdCompressSync(text)],
  ['gzip', (text) => gzipSync(text)],
  ['x-gzip', (text) => gzipSync(text)],
  ['GZIP', (text) => gzipSync(text)],
  ['br', (text) => brotliCompressSync(text)],
  ['deflate', (text) => deflateSync(text)],
  ['deflate', (text) => deflateRawSync(text)],
]

describe.each(Object.entries(WAYS) as [keyof typeof WAYS, Way][])('%s', (way, { text, ...is }) => {
  test.each(ENCODERS)(
    '%s: is decoded for webhooks, and goes on decoded',
    async (encoding, encode) => {
      const heldBytes = createHeldBytes(1 << 24)
      const sent = await send(way, encode(text), [encoding], { heldBytes })
      expect([sent.status, Buffer.from(sent.body, 'latin1').toString()]).toEqual([0, text])
      expect(sent.headers).toMatchObject({
        'content-length': String(Buffer.byteLength(text)),
        'content-encoding': null,
        'content-digest': null,
      })
      expect(sent.asked.map((question) => question.includes('a secret €'))).toEqual(
        is.isAsked ? [true] : [],
      )
      expect(heldBytes.held()).toBe(0)
    },
  )

  test.each<[string, readonly string[], Uint8Array]>([
    ['two encodings', ['gzip, br'], brotliCompressSync(gzipSync(text))],
    ['two headers', ['gzip', 'gzip'], gzipSync(gzipSync(text))],
    ['one beside identity', ['identity, gzip'], gzipSync(text)],
    ['an unknown one', ['compress'], Buffer.from(text)],
    ['a member of every object', ['constructor'], Buffer.from(text)],
    ['another than it says', ['br'], gzipSync(text)],
    ['none, though it says so', ['gzip'], Buffer.from(text)],
    ['a damaged one', ['zstd'], zstdCompressSync(text).subarray(0, -1)],
    ['bytes behind it', ['gzip'], Buffer.concat([gzipSync(text), Buffer.from('{}')])],
  ])('%s: is not read', async (_what, encoding, body) => {
    const sent = await send(way, body, encoding)
    expect([sent.status, sent.asked]).toEqual([is.unreadable, []])
    expect(sent.body).toBe(is.unreadable === 0 ? Buffer.from(body).toString('latin1') : '')
    expect(sent.headers['content-encoding']).toBe(undefined)
  })

  test.each<[string, Uint8Array]>([
    ['gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024))],
    ['br', brotliCompressSync(Buffer.alloc(64 * 1024 * 1024))],
    ['zstd', zstdCompressSync(Buffer.alloc(64 * 1024 * 1024))],
  ])(
    '%s that becomes larger than a body may be: 413, and nothing is kept',
    async (encoding, body) => {
      const heldBytes = createHeldBytes(1 << 24)
      const sent = await send(way, body, [encoding], { heldBytes })
      expect([sent.status, sent.body, sent.asked, heldBytes.held()]).toEqual([413, '', [], 0])
    },
  )

  test('what is decoded has room among all held bytes, or is 503', async () => {
    const heldBytes = createHeldBytes(20_000)
    const body = gzipSync(text.replace('€', ' '.repeat(90_000)))
    const sent = await send(way, body, ['gzip'], { heldBytes })
    expect([sent.status, sent.body, heldBytes.held()]).toEqual([503, '', 0])
  })

  test('whose client leaves while it is decoded: nothing is asked, sent or held', async () => {
    const heldBytes = createHeldBytes(1 << 24)
    const left = await send(way, gzipSync(text), ['gzip'], { heldBytes, leaves: true })
    const { status, body, asked } = left
    expect([status, body, asked, heldBytes.held()]).toEqual([0, '', [], 0])
  })
})

test('identity is no encoding', async () => {
  for (const encoding of [['identity'], ['Identity', 'identity']])
    expect((await send('chat', Buffer.from(CHAT), encoding)).asked).toHaveLength(1)
})
