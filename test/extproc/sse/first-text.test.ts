// How much later a guarded stream sends a text than the model does, measured with a simulated clock, so the speed of
// the machine does not matter. The text behind it that a webhook needs takes (holdBack - 1) / rate to arrive, and then
// the webhook answers: no text that waits for both can be sent earlier.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { identity } from '../../../src/extproc/encodings/decoder.js'
import { createSseReader } from '../../../src/extproc/sse/framing/sse-frames.js'
import { createStreamedReply } from '../../../src/extproc/sse/streamed-reply.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const MIN_INTERVAL_MS = 50
/** Characters that the ends of words and of the model's pieces may add. */
const TOLERANCE_MS = 100

interface Speech {
  /** Characters a second. */
  readonly rate: number
  readonly webhookMs: number
  readonly holdBack: number
}

interface EventTexts {
  /** Milliseconds from the model to the client, of each piece. */
  readonly lags: readonly number[]
  readonly calls: number
}

/** Pieces as models send them: words with the blank before them. */
const WORDS = [' a', ' text', ' of', ' words', ', said', ' one', ' by', ' one', '.', ' Remarkably']
const LONGEST = Math.max(...WORDS.map((word) => word.length))
const SECONDS = 12

/** Plays a model that speaks for some seconds, and a webhook that lets everything pass. */
async function speak({ rate, webhookMs, holdBack }: Speech): Promise<EventTexts> {
  const leaving = new AbortController()
  const saidAt: number[] = []
  const lags: number[] = []
  let calls = 0
  const answer = { status: 200, headers: {}, body: [Buffer.from('{"action":{}}')] }
  const pools = {
    call: () => {
      calls += 1
      return new Promise<never>((resolve) => {
        setTimeout(() => resolve({ ok: true, value: answer } as never), webhookMs)
      })
    },
    close: () => Promise.resolve(),
  }
  const hook = webhook(1, { holdBack, minIntervalMs: MIN_INTERVAL_MS })
  const reply = createStreamedReply(
    {
      guard: compileGuard(guardEntry('k', { response: [hook] })),
      attributes: {},
      isOneChoice: false,
      decoder: identity,
      reader: createSseReader(1024 * 1024),
      signal: leaving.signal,
    },
    {
      send: (text) => {
        const count = text.split('"content"').length - 1
        for (let piece = 0; piece < count; piece += 1)
          lags.push(Date.now() - (saidAt[lags.length] ?? NaN))
      },
      refuse: ({ error }) => expect.unreachable(error.code),
    },
    { ...guardrails(pools), now: () => 0, logger: silent },
  )
  let due = 0
  for (let index = 0; due < SECONDS * 1000; index += 1) {
    const content = WORDS[index % WORDS.length] ?? ''
    // A model sends a piece once all of it is generated.
    due += (content.length / rate) * 1000
    await vi.advanceTimersByTimeAsync(Math.max(0, Math.round(due) - Date.now()))
    saidAt.push(Date.now())
    const event = { choices: [{ index: 0, delta: { content } }] }
    await reply.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`))
  }
  leaving.abort()
  await vi.advanceTimersByTimeAsync(webhookMs)
  return { lags, calls }
}

const bound = ({ rate, webhookMs, holdBack }: Speech): number =>
  ((holdBack - 1) / rate) * 1000 + webhookMs

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 0 })
})
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

const speeches = [80, 200, 400, 1200].flatMap((rate) =>
  [5, 50, 300].flatMap((webhookMs) =>
    [64, 256].map((holdBack): Speech => ({ rate, webhookMs, holdBack })),
  ),
)

describe('the first text comes within 100 ms of what it must wait for', () => {
  test.each(speeches)(
    '$rate characters a second, a webhook of $webhookMs ms, holdBack $holdBack',
    async (speech) => {
      const { lags, calls } = await speak(speech)
      expect(lags[0]).toBeGreaterThanOrEqual(Math.floor(bound(speech)))
      expect(lags[0]).toBeLessThanOrEqual(bound(speech) + TOLERANCE_MS)
      // Later texts may also have to wait for the answer that is under way, or for the interval; and for a whole word behind
      // them, which may take longer to arrive than the tolerance.
      const turn = Math.max(MIN_INTERVAL_MS, speech.webhookMs)
      const word = (LONGEST / speech.rate) * 1000
      expect(Math.max(...lags)).toBeLessThanOrEqual(bound(speech) + turn + word + TOLERANCE_MS)
      expect(calls).toBeLessThanOrEqual((SECONDS * 1000) / turn + 1)
    },
  )
})

test('50 tokens a second, a webhook of 20 ms, holdBack 64: as the benchmark has it', async () => {
  const speech = { rate: 50 * 4, webhookMs: 20, holdBack: 64 }
  const { lags } = await speak(speech)
  expect(lags[0]).toBeLessThanOrEqual(bound(speech) + TOLERANCE_MS)
})
