// A streamed reply by itself: every way in which a webhook, a window or the stream can fail, and what is left of it.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSseReader } from '../../../src/llm/framing/sse-frames.js'
import { err, ok } from '../../../src/result.js'
import type { WebhookPools } from '../../../src/remote/webhook-pools.js'
import { identity, type Decoder } from '../../../src/extproc/encodings/decoder.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import {
  createStreamedReply,
  type StreamedReply,
} from '../../../src/extproc/streamed/streamed-reply.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

type Call = Parameters<WebhookPools['call']>[0]
type Answer = Awaited<ReturnType<WebhookPools['call']>>

interface Asked {
  readonly text: string
  readonly signal: AbortSignal
  answer(value: unknown): void
  fail(): void
  throw(error: Error): void
}

let asked: Asked[]
let sent: string
let refused: string[]
let leaving: AbortController

const pools: WebhookPools = {
  call: ({ body, signal }: Call) =>
    new Promise<Answer>((resolve, reject) => {
      const { choices } = (
        JSON.parse(Buffer.from(body).toString()) as {
          body: { choices: { message: { content: string } }[] }
        }
      ).body
      signal.addEventListener('abort', () => resolve(err({ type: 'aborted' })))
      asked.push({
        text: choices[0]?.message.content ?? '',
        signal,
        answer: (value) =>
          resolve(
            ok({ status: 200, headers: {}, body: Buffer.from(JSON.stringify(value)) } as never),
          ),
        fail: () => resolve(err({ type: 'timeout' } as never)),
        throw: reject,
      })
    }),
  close: () => Promise.resolve(),
}

const ALLOW = { action: {} }
const masked = (content: string) => ({
  action: { body: { choices: [{ message: { role: 'assistant', content } }] } },
})

const open = (...modes: readonly ('FailClosed' | 'FailOpen')[]) => openEncoded(identity, modes)

function openEncoded(
  decoder: Decoder,
  modes: readonly ('FailClosed' | 'FailOpen')[],
): StreamedReply {
  const response = modes.map((failureMode) => webhook(1, { failureMode }))
  return createStreamedReply(
    {
      guard: compileGuard(guardEntry('k', { response })),
      attributes: {},
      decoder,
      reader: createSseReader(1024 * 1024),
      signal: leaving.signal,
    },
    {
      send: (text) => (sent += text),
      refuse: ({ error }) => refused.push(error.code),
    },
    { ...guardrails(pools), now: () => 0, logger: silent, logRefusal: () => {} },
  )
}

const says = (content: string, choice = 0): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: choice, delta: { content } }] })}\n\n`)
const told = (): string =>
  [...sent.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text).join('')
/** Everything that is ready has happened. */
const settled = () => vi.advanceTimersByTimeAsync(0)
const WINDOW = 'word '.repeat(210)

beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  sent = ''
  refused = []
  leaving = new AbortController()
})
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

test('text is shown after 300 ms, and once more when more comes', async () => {
  const reply = open('FailClosed')
  await reply.push(says('some words'))
  await vi.advanceTimersByTimeAsync(299)
  expect(asked).toHaveLength(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(asked.map(({ text }) => text)).toEqual(['some '])
  asked[0]?.answer(ALLOW)
  await settled()
  expect(sent).toBe('')
  const end = reply.end()
  await settled()
  expect(asked[1]?.text).toBe('some words')
  asked[1]?.answer(masked('some ****'))
  await end
  expect(told()).toBe('some ****')
})

test('one window of a text at a time, those of other texts beside it', async () => {
  const reply = open('FailClosed')
  await reply.push(Buffer.concat([says(WINDOW), says(WINDOW, 1), says(WINDOW)]))
  expect(asked).toHaveLength(2)
  leaving.abort()
})

test('a second webhook sees what the first one changed', async () => {
  const reply = open('FailClosed', 'FailOpen')
  await reply.push(says('a secret'))
  const end = reply.end()
  await settled()
  asked[0]?.answer(masked('a ****'))
  await settled()
  expect(asked[1]?.text).toBe('a ****')
  asked[1]?.fail()
  await end
  expect(told()).toBe('a ****')
})

test('a webhook that has no verdict ends the stream when it fails closed', async () => {
  const reply = open('FailOpen', 'FailClosed')
  await reply.push(says(WINDOW))
  asked[0]?.fail()
  await settled()
  asked[1]?.fail()
  await reply.end()
  expect([told(), refused]).toEqual(['', ['guardrail_unavailable']])
})

test('a bug while a window is shown ends the stream, however webhooks fail', async () => {
  const reply = open('FailOpen')
  await reply.push(says(WINDOW))
  asked[0]?.throw(new Error('bug'))
  await reply.end()
  expect([told(), refused]).toEqual(['', ['guardrail_unavailable']])
})

test('what was seen leaves, what comes after a reject does not', async () => {
  const reply = open('FailClosed')
  await reply.push(Buffer.concat(Array.from({ length: 210 }, () => says('word '))))
  asked[0]?.answer(ALLOW)
  await settled()
  const seen = told()
  expect(seen.length).toBeGreaterThan(700)
  await reply.push(says(WINDOW))
  asked[1]?.answer({ action: { body: 'no', status_code: 403 } })
  await settled()
  await reply.push(says('more'))
  await reply.end()
  expect([told(), refused]).toEqual([seen, ['content_filter']])
})

test('a stream that is left gives up the calls under way, and waits for nothing', async () => {
  const reply = open('FailClosed')
  await reply.push(Buffer.concat([says(WINDOW), says('a few words', 1)]))
  const end = reply.end()
  await settled()
  leaving.abort()
  await end
  expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, true])
  expect([told(), refused]).toEqual(['', []])
})

test('a stream that is left while a piece is decoded waits for nothing', async () => {
  let close = (): void => {}
  const push = () => new Promise<undefined>((resolve) => (close = () => resolve(undefined)))
  const reply = openEncoded({ ...identity, push, close: () => close() }, ['FailClosed'])
  const pushed = reply.push(says(WINDOW))
  leaving.abort()
  await pushed
  await reply.end()
  expect([asked, told(), refused]).toEqual([[], '', []])
})

test('a stream that is left while text waits for more leaves no clock running', async () => {
  const reply = open('FailClosed')
  await reply.push(says('a few words'))
  expect(vi.getTimerCount()).toBe(1)
  leaving.abort()
  expect(vi.getTimerCount()).toBe(0)
  await vi.advanceTimersByTimeAsync(1000)
  expect(asked).toEqual([])
})

test('no more is taken while much is unseen, until a webhook has answered', async () => {
  const reply = open('FailClosed')
  await reply.push(says(WINDOW))
  let taken = false
  const push = reply.push(says(WINDOW.repeat(5))).then(() => (taken = true))
  await settled()
  expect(taken).toBe(false)
  asked[0]?.answer(ALLOW)
  await push
  leaving.abort()
})

test('an event that cannot be read: the end, or the rest as it is where all webhooks fail open', async () => {
  const closed = open('FailOpen', 'FailClosed')
  await closed.push(Buffer.from('data: {"message":"x"}\n\n'))
  await closed.end()
  expect([sent, refused]).toEqual(['', ['guardrail_unreadable']])
  refused = []
  const unread = 'data: {"message":"x"}\n\ndata: y\n\n'
  const reply = open('FailOpen')
  await reply.push(Buffer.concat([says('hi'), Buffer.from(unread)]))
  expect(sent).toBe('')
  asked[0]?.answer(ALLOW)
  await reply.end()
  expect([sent, refused]).toEqual([says('hi').toString() + unread, []])
})
