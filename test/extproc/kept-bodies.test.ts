// What is kept of a body after it has gone: a name out of it must not keep all of it in memory, which no budget counts. In
// heap bytes after a full collection, as in open-streams-memory.test.ts.

import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { identity } from '../../src/extproc/encodings/decoder.js'
import { readReply } from '../../src/extproc/llm/read-body.js'
import { usageOf } from '../../src/extproc/llm/text/usage.js'
import { createMcpGuardProcessor } from '../../src/extproc/mcp/mcp-guard-processor.js'
import { createHeldBytes } from '../../src/extproc/session/held-bytes.js'
import type { Processor } from '../../src/extproc/session/processor.js'
import { createSseReader } from '../../src/extproc/sse/framing/sse-frames.js'
import { createStreamedReply } from '../../src/extproc/sse/streamed-reply.js'
import { compileGuard, compileWebhook } from '../../src/extproc/webhook/compiled-guard.js'
import { OwnEnding } from '../../src/kit/ending.js'
import type { WebhookPools } from '../../src/kit/http/webhook-pools.js'
import { ok } from '../../src/kit/result.js'
import { atOnce } from '../../src/kit/turns.js'
import { TokenCounts } from '../../src/ops/admin/token-counts.js'
import { eventually } from '../../testing/eventually.js'
import { guardEntry, guardrails, webhook } from './support/guards.js'
import { heapUsed } from './support/heap.js'
import { silent } from './support/stream.js'

const MB = 1024 * 1024
const BODIES = 8
/** Longer than what V8 copies out of a text in place of referring to it. */
const NAME = 'a-name-of-some-length'
/** Room for a few names out of a body, and for what belongs to an open stream. */
const MOST_KEPT = MB / 4

const pools: WebhookPools = {
  call: () =>
    Promise.resolve(ok({ status: 200, headers: new Map(), body: [Buffer.from('{"action":{}}')] })),
  close: () => Promise.resolve(),
}
const deps = {
  ...guardrails(pools),
  now: () => performance.now(),
  logger: silent,
  maxBodyBytes: 1 << 24,
}
const data = (event: object): Buffer => Buffer.from(`data: ${JSON.stringify(event)}\n\n`)

test('an open stream of an MCP server keeps the name of the tool, not the arguments', async () => {
  const webhooks = [compileWebhook(webhook(1))]
  const guard = { route: 'default/mcp', request: webhooks, response: webhooks } as const
  const open = async (): Promise<Processor> => {
    const stream = { send: () => {}, signal: new OwnEnding() }
    const processor = createMcpGuardProcessor({ type: 'mcp-guard', ...guard }, stream, deps)
    const request = new Map([
      [':method', ['POST']] as const,
      [':path', ['/mcp']] as const,
      ['content-type', ['application/json']] as const,
    ])
    const config = { requestBodyMode: 4, responseBodyMode: 4 }
    await processor.requestHeaders({ headers: request, endOfStream: false }, { config })
    const params = { name: NAME, arguments: { text: 'x'.repeat(2 * MB) } }
    const call = { jsonrpc: '2.0', id: `${NAME}-1`, method: 'tools/call', params }
    await processor.requestBody({ body: Buffer.from(JSON.stringify(call)), endOfStream: true })
    const headers = new Map([
      [':status', ['200']],
      ['content-type', ['text/event-stream']],
    ])
    await processor.responseHeaders({ headers, endOfStream: false }, {})
    return processor
  }
  await open()
  const before = await heapUsed()
  const opened: Processor[] = []
  for (let index = 0; index < BODIES; index += 1) opened.push(await open())
  expect((await heapUsed()) - before).toBeLessThan(BODIES * MOST_KEPT)
  expect(opened.some((processor) => processor.isDone())).toBe(false)
})

test('an open stream of an LLM keeps what it says, not the images beside it', async () => {
  const heldBytes = createHeldBytes(64 * MB)
  let sent = 0
  const reply = createStreamedReply(
    {
      guard: compileGuard(
        guardEntry('k', { response: [webhook(1, { holdBack: 8, minIntervalMs: 10 })] }),
      ),
      attributes: {},
      isOneChoice: false,
      decoder: identity,
      signal: new OwnEnding(),
      reader: createSseReader(1 << 24),
    },
    {
      send: (text) => (sent += text.length),
      refuse: ({ problem }) => expect.unreachable(problem),
    },
    { ...deps, heldBytes },
  )
  const url = `data:image/png;base64,${'iVBO'.repeat(MB / 4)}`
  const say = async (content: string, images: readonly string[]): Promise<void> => {
    const parts = images.map((image) => ({ type: 'image_url', image_url: { url: image } }))
    const before = sent
    const choices = [{ index: 0, delta: { content, images: parts } }]
    await reply.push(data({ model: NAME, choices }))
    if (images.length > 0) await eventually(() => expect(sent).toBeGreaterThan(before))
  }
  await say('Some words to begin with. ', [])
  const before = await heapUsed()
  for (let index = 0; index < BODIES; index += 1) await say(`And here is picture ${index}. `, [url])
  // All is free at the end, and nothing of the stream is forgotten before its end.
  await reply.push(Buffer.from('data: [DONE]\n\n'))
  await eventually(() => expect(sent).toBeGreaterThan(BODIES * url.length))
  expect((await heapUsed()) - before).toBeLessThan(BODIES * MOST_KEPT)
  expect(heldBytes.held()).toBeLessThan(MB)
})

test('an open stream of an LLM keeps what a webhook has changed, not the rest of its answers', async () => {
  const call: WebhookPools['call'] = ({ body }) => {
    const question = (JSON.parse(Buffer.from(body).toString()) as { body: object }).body
    const answer = { action: { body: question }, trace: 'x'.repeat(MB) }
    const masked = JSON.stringify(answer).replaceAll('secret', `[${NAME}]`)
    return Promise.resolve(ok({ status: 200, headers: new Map(), body: [Buffer.from(masked)] }))
  }
  let sent = ''
  const reply = createStreamedReply(
    {
      guard: compileGuard(
        guardEntry('k', { response: [webhook(1, { holdBack: 8, minIntervalMs: 10 })] }),
      ),
      attributes: {},
      isOneChoice: false,
      decoder: identity,
      signal: new OwnEnding(),
      reader: createSseReader(1 << 24),
    },
    { send: (text) => (sent += text), refuse: ({ problem }) => expect.unreachable(problem) },
    { ...deps, ...guardrails({ ...pools, call }), maxBodyBytes: 1 << 24 },
  )
  const say = async (content: string): Promise<void> => {
    await reply.push(data({ choices: [{ index: 0, delta: { content } }] }))
  }
  const masked = (): number => sent.split(NAME).length - 1
  await say('A secret to begin with, and some more words. ')
  const before = await heapUsed()
  for (let index = 0; index < BODIES; index += 1) {
    await say('And a secret in some more words than are held. ')
    // The end of what was said last is held back.
    await eventually(() => expect(masked()).toBe(index + 1))
  }
  expect((await heapUsed()) - before).toBeLessThan(BODIES * MOST_KEPT)
})

test('the metrics keep the names of models, not the replies that name them', async () => {
  const counts = new TokenCounts([new Registry()], () => {})
  const count = (index: number): void => {
    const message = { role: 'assistant', content: 'x'.repeat(2 * MB) }
    const reply = {
      model: `${NAME}-${index}`,
      choices: [{ index: 0, message }],
      usage: { prompt_tokens: 1 },
    }
    const read = atOnce(readReply(Buffer.from(JSON.stringify(reply))))
    counts.add('default/llm', (read.ok ? usageOf(read.value.json) : undefined) ?? {})
  }
  // V8 keeps the text that a pattern was last compared with.
  count(BODIES)
  const before = await heapUsed()
  for (let index = 0; index < BODIES; index += 1) count(index)
  expect((await heapUsed()) - before).toBeLessThan(BODIES * MOST_KEPT)
  counts.forget('default/llm')
})
