// A streamed reply by itself: every way in which a webhook, a window or the stream can fail, and what is left of it.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Decoder, identity } from '../../../src/extproc/encodings/decoder.js'
import {
  createStreamedReply,
  type StreamedReply,
} from '../../../src/extproc/streamed/streamed-reply.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import type { Webhook } from '../../../src/ir/proc-entry.js'
import { createSseReader } from '../../../src/llm/framing/sse-frames.js'
import type { WebhookPools } from '../../../src/remote/webhook-pools.js'
import { err, ok } from '../../../src/result.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

type Call = Parameters<WebhookPools['call']>[0]
type Answer = Awaited<ReturnType<WebhookPools['call']>>

interface Asked {
  readonly text: string
  readonly signal: Call['signal']
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
const openWith = (response: readonly Webhook[]) => openGuard(identity, response)

function openEncoded(
  decoder: Decoder,
  modes: readonly ('FailClosed' | 'FailOpen')[],
): StreamedReply {
  return openGuard(
    decoder,
    modes.map((failureMode) => webhook(1, { failureMode })),
  )
}

function openGuard(decoder: Decoder, response: readonly Webhook[]): StreamedReply {
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
/** A long text in pieces of a word. */
const longText = (choice = 0): Buffer =>
  Buffer.concat(Array.from({ length: 210 }, () => says('word ', choice)))
/** Everything that is ready has happened. */
const settled = () => vi.advanceTimersByTimeAsync(0)
const LONG = 'word '.repeat(210)

beforeEach(() => {
  // Turns between slices are real.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  asked = []
  sent = ''
  refused = []
  leaving = new AbortController()
})
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

const WORD = 'word '
const words = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => says(WORD)))

test('a webhook is asked when it could free something, not before, and once more when the last answer is back', async () => {
  const reply = open('FailClosed')
  for (let count = 0; count < 51; count += 1) await reply.push(says(WORD))
  await vi.advanceTimersByTimeAsync(1000)
  expect(asked).toHaveLength(0)
  await reply.push(says(WORD))
  expect(asked.map(({ text }) => text)).toEqual([WORD.repeat(52)])
  await reply.push(says(WORD))
  await vi.advanceTimersByTimeAsync(1000)
  expect(asked).toHaveLength(1)
  asked[0]?.answer(ALLOW)
  await settled()
  expect(told()).toBe(WORD)
  // The interval is over, and something is new.
  expect(asked).toHaveLength(2)
  asked[1]?.answer(ALLOW)
  await settled()
  expect(told()).toBe(WORD.repeat(2))
  await reply.end()
  expect([asked.length, told()]).toEqual([2, WORD.repeat(53)])
})

test('at least minInterval lies between two windows of a text, unless a whole window is unseen or it ends', async () => {
  const reply = openWith([webhook(1, { minIntervalMs: 300 })])
  await reply.push(words(60))
  asked[0]?.answer(ALLOW)
  await reply.push(words(60))
  await vi.advanceTimersByTimeAsync(299)
  expect(asked).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(asked).toHaveLength(2)
  asked[1]?.answer(ALLOW)
  await settled()
  await reply.push(words(820))
  expect(asked).toHaveLength(3)
  asked[2]?.answer(ALLOW)
  await reply.push(says('the last'))
  const end = reply.end()
  await settled()
  expect(asked).toHaveLength(4)
  asked[3]?.answer(ALLOW)
  await end
})

test('the longest hold-back and the longest interval of several webhooks count', async () => {
  const reply = openWith([
    webhook(1, { holdBack: 20, minIntervalMs: 500 }),
    webhook(1, { holdBack: 100, minIntervalMs: 50 }),
  ])
  await reply.push(words(20))
  expect(asked).toHaveLength(0)
  await reply.push(says(WORD))
  asked[0]?.answer(ALLOW)
  await settled()
  asked[1]?.answer(ALLOW)
  await settled()
  expect(told()).toBe(WORD)
  await reply.push(says(WORD))
  await vi.advanceTimersByTimeAsync(499)
  expect(asked).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(1)
  expect(asked).toHaveLength(3)
  leaving.abort()
})

test('a word that has not ended is waited for 25 ms, then shown', async () => {
  const reply = openWith([webhook(1, { holdBack: 8 })])
  await reply.push(Buffer.concat([says('m'), says('any wor')]))
  await vi.advanceTimersByTimeAsync(24)
  expect(asked).toHaveLength(0)
  await vi.advanceTimersByTimeAsync(1)
  expect(asked.map(({ text }) => text)).toEqual(['many wor'])
  leaving.abort()
})

test('an answer says how many characters it still needs', async () => {
  const reply = open('FailClosed')
  for (let count = 0; count < 52; count += 1) await reply.push(says(WORD))
  asked[0]?.answer({ ...ALLOW, holdBack: 10 })
  await settled()
  expect(told()).toBe(WORD.repeat(50))
  leaving.abort()
})

test.each([-1, 4097, 1.5, '10', null])('a holdBack of %j is no verdict', async (holdBack) => {
  const reply = open('FailClosed')
  await reply.push(longText())
  asked[0]?.answer({ ...ALLOW, holdBack })
  await reply.end()
  expect([told(), refused]).toEqual(['', ['guardrail_unavailable']])
})

test('a text of which nothing is left as it was ends the stream at the bound', async () => {
  const reply = open('FailOpen')
  let count = 0
  for (; refused.length === 0 && count < 1000; count += 1) {
    await reply.push(says('some words '.repeat(10)))
    asked.at(-1)?.answer(masked('XXX'))
    await settled()
  }
  await reply.end()
  expect([told(), refused]).toEqual(['', ['guardrail_unreadable']])
  expect(count * 110).toBeLessThan(20_000)
})

describe('a webhook of mode Async', () => {
  const isAsync = { mode: 'Async' } as const

  test('sees what has left, and a reject ends the stream', async () => {
    const reply = openWith([webhook(1, isAsync)])
    await reply.push(longText())
    expect(told()).toBe(LONG)
    expect(asked.map(({ text }) => text)).toEqual([LONG])
    asked[0]?.answer({ action: { body: 'no', status_code: 403 } })
    await settled()
    await reply.push(says('more'))
    await reply.end()
    expect([told(), refused]).toEqual([LONG, ['content_filter']])
  })

  test('keeps the end of the text until it has seen all of it', async () => {
    const reply = openWith([webhook(1, isAsync)])
    const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    await reply.push(Buffer.concat([says('a few words'), Buffer.from(finish)]))
    expect(sent).toBe(says('a few words').toString())
    const end = reply.end()
    await settled()
    asked[0]?.answer(ALLOW)
    await end
    expect([sent, refused]).toEqual([says('a few words').toString() + finish, []])
  })

  test('a reject of the last words is told although the LLM has ended', async () => {
    const reply = openWith([webhook(1, isAsync)])
    await reply.push(says('a few words'))
    const end = reply.end()
    await settled()
    asked[0]?.answer({ action: { body: 'no', status_code: 403 } })
    await end
    expect([told(), refused]).toEqual(['a few words', ['content_filter']])
  })

  test.each([
    ['FailClosed', ['guardrail_unavailable']],
    ['FailOpen', []],
  ] as const)('a change is no verdict: %s', async (failureMode, codes) => {
    const reply = openWith([webhook(1, { ...isAsync, failureMode })])
    await reply.push(says('a secret'))
    const end = reply.end()
    await settled()
    asked[0]?.answer(masked('a ****'))
    await end
    expect([told(), refused]).toEqual(['a secret', codes])
  })

  test('sees what one of mode Sync made of the text', async () => {
    const reply = openWith([webhook(1), webhook(1, isAsync)])
    await reply.push(says('a secret'))
    const end = reply.end()
    await settled()
    asked[0]?.answer(masked('a ****'))
    await settled()
    expect([told(), asked[1]?.text]).toEqual(['a ****', 'a ****'])
    asked[1]?.answer(ALLOW)
    await end
    expect(refused).toEqual([])
  })

  test('that is slow stops the reading of more', async () => {
    const reply = openWith([webhook(1, isAsync)])
    await reply.push(longText())
    let taken = false
    const push = reply.push(words(1000)).then(() => (taken = true))
    await settled()
    expect([taken, asked.length]).toEqual([false, 1])
    asked[0]?.answer(ALLOW)
    await push
    leaving.abort()
  })

  test('that hangs when the client leaves is left', async () => {
    const reply = openWith([webhook(1, isAsync)])
    await reply.push(longText())
    const end = reply.end()
    leaving.abort()
    await end
    expect([asked[0]?.signal.aborted, refused]).toEqual([true, []])
  })
})

test('one window of a text at a time, those of other texts beside it', async () => {
  const reply = open('FailClosed')
  await reply.push(Buffer.concat([longText(), longText(1), longText()]))
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
  await reply.push(longText())
  asked[0]?.fail()
  await settled()
  asked[1]?.fail()
  await reply.end()
  expect([told(), refused]).toEqual(['', ['guardrail_unavailable']])
})

test('a bug while a window is shown ends the stream, however webhooks fail', async () => {
  const reply = open('FailOpen')
  await reply.push(longText())
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
  await reply.push(longText())
  await vi.advanceTimersByTimeAsync(300)
  asked[1]?.answer({ action: { body: 'no', status_code: 403 } })
  await settled()
  await reply.push(says('more'))
  await reply.end()
  expect([told(), refused]).toEqual([seen, ['content_filter']])
})

test('a stream that is left gives up the calls under way, and waits for nothing', async () => {
  const reply = open('FailClosed')
  await reply.push(Buffer.concat([longText(), says('a few words', 1)]))
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
  const pushed = reply.push(longText())
  leaving.abort()
  await pushed
  await reply.end()
  expect([asked, told(), refused]).toEqual([[], '', []])
})

test('a stream that is left while a word waits for its end leaves no clock running', async () => {
  const reply = openWith([webhook(1, { holdBack: 8 })])
  await reply.push(Buffer.concat([says('a'), says(' few wor')]))
  expect(vi.getTimerCount()).toBe(1)
  leaving.abort()
  expect(vi.getTimerCount()).toBe(0)
  await vi.advanceTimersByTimeAsync(1000)
  expect(asked).toEqual([])
})

test('no more is taken while much is unseen, until a webhook has answered', async () => {
  const reply = open('FailClosed')
  await reply.push(longText())
  let taken = false
  const push = reply.push(says(LONG.repeat(5))).then(() => (taken = true))
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
