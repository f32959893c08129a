// A streamed reply whose events take more than one turn of the event loop: other work gets its turns, and nothing
// passes that no webhook has seen.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { gzipDecoder } from '../../../src/extproc/encodings/decode-reply.js'
import { type Decoder, identity } from '../../../src/extproc/encodings/decoder.js'
import { createHeldBytes, type HeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { eventStream, type Framing, jsonArray } from '../../../src/extproc/sse/framing.js'
import { createStreamedReply } from '../../../src/extproc/sse/streamed-reply.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ok } from '../../../src/kit/result.js'
import type { Webhook } from '../../../src/model/proc-entry.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const MB = 1024 * 1024

let heldBytes: HeldBytes
let leaving: AbortController
let sent: string[]
let refused: string[]
/** Texts that the webhook was shown. */
let shown: string[]
let answer: (text: string, role: string) => object

const pools: WebhookPools = {
  call: ({ body }) => {
    const { choices } = (
      JSON.parse(Buffer.from(body).toString()) as {
        body: { choices: { message: { role: string; content: string } }[] }
      }
    ).body
    const { role = '', content: text = '' } = choices[0]?.message ?? {}
    shown.push(text)
    return nextTurn(
      ok({
        status: 200,
        headers: {},
        body: [Buffer.from(JSON.stringify(answer(text, role)))],
      } as never),
    )
  },
  close: () => Promise.resolve(),
}

beforeEach(() => {
  heldBytes = createHeldBytes(Infinity)
  leaving = new AbortController()
  sent = []
  refused = []
  shown = []
  answer = () => ({ action: {} })
})

interface Opened {
  readonly framing?: Framing
  readonly decoder?: Decoder
  readonly hook?: Partial<Webhook>
  readonly asking?: WebhookPools
}

const open = ({
  framing = eventStream(10 * MB),
  decoder = identity,
  hook = {},
  asking = pools,
}: Opened = {}) =>
  createStreamedReply(
    {
      guard: compileGuard(
        guardEntry('k', { response: [webhook(1, { minIntervalMs: 0, ...hook })] }),
      ),
      attributes: {},
      isOneChoice: false,
      decoder,
      reader: framing.reader,
      signal: leaving.signal,
    },
    {
      send: (text) => void sent.push(text),
      refuse: ({ error }) => refused.push(error.code),
    },
    {
      ...guardrails(asking),
      maxBodyBytes: 10 * MB,
      heldBytes,
      now: () => 0,
      logger: silent,
    },
  )

const delta = (content: string): string =>
  JSON.stringify({ choices: [{ index: 0, delta: { content } }] })
const says = (content: string): string => `data: ${delta(content)}\n\n`
const mask = (text: string): string => text.replaceAll('secret', '******')
const masking = (content: string, role: string): object => ({
  action: { body: { choices: [{ message: { role, content: mask(content) } }] } },
})
const GIANT = 'some words and a secret, '.repeat(8_000)

/** Counts turns of the event loop until the promise settles. */
async function turnsUntil(promise: Promise<unknown>): Promise<number> {
  let isDone = false
  const done = promise.then(() => (isDone = true))
  let turns = 0
  for (; !isDone; turns += 1) await nextTurn()
  await done
  return turns
}

test('others have many turns while a giant event is read, and it leaves masked', async () => {
  answer = masking
  const reply = open()
  const stream = says('before ') + says(GIANT) + says(' behind')
  const pushed = turnsUntil(reply.push(Buffer.from(stream)))
  expect(sent).toEqual([])
  expect(await pushed).toBeGreaterThan(10)
  await reply.end()
  expect(sent.join('') === mask(stream)).toBe(true)
  expect(Math.max(...sent.map((text) => text.length))).toBeLessThanOrEqual(64 * 1024 + 1)
  expect([refused, heldBytes.held()]).toEqual([[], 0])
})

test('a call of a tool of megabytes is shown whole, in its place among the events', async () => {
  answer = masking
  const reply = open({ hook: { inspectToolCalls: true } })
  const call = JSON.stringify({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, function: { arguments: JSON.stringify(GIANT) } }] },
      },
    ],
  })
  const stream = `${says('before')}data: ${call}\n\n${says(' a secret')}`
  await reply.push(Buffer.from(stream))
  await reply.end()
  expect(shown.some((text) => text === JSON.stringify(GIANT))).toBe(true)
  expect(sent.join('') === mask(stream)).toBe(true)
})

test.each([
  ['comments', ':\n\n'],
  ['blank lines', '\n'],
  ['events', says('a ')],
])('a few bytes that stand for many %s', async (_name, text) => {
  const reply = open({ decoder: gzipDecoder({ maxBytes: 10 * MB }) })
  const stream = text.repeat(Math.ceil(MB / 4 / text.length))
  const turns = await turnsUntil(reply.push(gzipSync(stream)))
  expect(turns).toBeGreaterThan(10)
  await reply.end()
  expect(sent.join('') === stream).toBe(true)
  expect(refused).toEqual([])
})

test('reading of a piece pauses while a webhook is asked about much of it', async () => {
  const asked: (() => void)[] = []
  const slow: WebhookPools = {
    ...pools,
    call: (call) => new Promise((resolve) => asked.push(() => resolve(pools.call(call)))),
  }
  const reply = open({ asking: slow })
  const all = reply.push(Buffer.from(says('words ').repeat(20_000)))
  for (let turns = 0; turns < 100; turns += 1) await nextTurn()
  expect(asked).toHaveLength(1)
  // The piece, and what a slice or two have made of it.
  expect(heldBytes.held()).toBeLessThan(20_000 * says('words ').length + 2000 * 512)
  leaving.abort()
  await all
  expect([sent.join(''), heldBytes.held()]).toEqual(['', 0])
})

describe('while a giant event is read', () => {
  test('the client leaves: nothing more is done', async () => {
    const reply = open()
    const pushed = reply.push(Buffer.from(says(GIANT)))
    await nextTurn()
    leaving.abort()
    expect(await turnsUntil(pushed)).toBeLessThan(5)
    await reply.end()
    expect([sent, refused, shown, heldBytes.held()]).toEqual([[], [], [], 0])
  })

  test('a webhook rejects what came before: it does not pass', async () => {
    answer = () => ({ action: { body: 'no', status_code: 403 } })
    const reply = open()
    await reply.push(Buffer.from(says('words '.repeat(100))))
    await reply.push(Buffer.from(says(GIANT)))
    await reply.end()
    expect([sent.join(''), refused]).toEqual(['', ['content_filter']])
  })

  test('it goes beyond a bound: an error, and nothing of it or behind it', async () => {
    const reply = open()
    const values = Array.from({ length: 60_000 }, () => ({}))
    const beyond = JSON.stringify({
      choices: [{ index: 0, delta: { content: 'a secret' } }],
      values,
    })
    await reply.push(Buffer.from(`: ping\n\ndata: ${beyond}\n\n${says('more')}`))
    await reply.end()
    expect([sent.join(''), refused, shown]).toEqual([': ping\n\n', ['guardrail_unreadable'], []])
  })

  test('its pieces are more texts than are held at once: an error', async () => {
    const reply = open()
    const choices = Array.from({ length: 5000 }, (_, index) => ({
      index,
      delta: { content: 'a secret' },
    }))
    await reply.push(Buffer.from(`data: ${JSON.stringify({ choices })}\n\n`))
    await reply.end()
    expect([sent.join(''), refused]).toEqual(['', ['guardrail_unreadable']])
  })
})

describe('while a giant event leaves', () => {
  const begin = async () => {
    const reply = open()
    await reply.push(Buffer.from(says(GIANT)))
    const end = reply.end()
    for (let turns = 0; sent.length === 0 && turns < 10_000; turns += 1) await nextTurn()
    return { reply, end }
  }

  test('the client leaves: nothing more is sent', async () => {
    const { end } = await begin()
    leaving.abort()
    const count = sent.length
    await end
    await nextTurn()
    expect([sent.length, refused, heldBytes.held()]).toEqual([count, [], 0])
  })

  test('all of it has left before the end is reported', async () => {
    const { end } = await begin()
    await end
    expect(sent.join('') === says(GIANT)).toBe(true)
  })

  test('a bug: an error, and nothing more', async () => {
    const stringify = vi.spyOn(JSON, 'stringify')
    answer = masking
    const reply = open()
    await reply.push(Buffer.from(says(GIANT)))
    stringify.mockImplementation((value: unknown) => {
      if (typeof value === 'string' && value.length > 10_000) throw new Error('a bug')
      return `${String(value)}`
    })
    await reply.end().finally(() => stringify.mockRestore())
    expect([sent.join(''), refused, heldBytes.held()]).toEqual(['', ['guardrail_unavailable'], 0])
  })
})

test('items of an array are read in slices too', async () => {
  answer = masking
  const reply = open({ framing: jsonArray(10 * MB), decoder: gzipDecoder({ maxBytes: 10 * MB }) })
  const item = JSON.stringify({
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: GIANT }] } }],
  })
  const stream = `[${item},\n${item}]`
  expect(await turnsUntil(reply.push(gzipSync(stream)))).toBeGreaterThan(20)
  await reply.end()
  expect(sent.join('') === mask(stream)).toBe(true)
})
