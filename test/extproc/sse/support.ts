// Runs a streamed reply whose webhook the test answers for, and records what was asked, what was sent and how the reply
// was rejected.

import { afterEach, beforeEach, expect, vi } from 'vitest'
import { type Decoder, identity } from '../../../src/extproc/encodings/decoder.js'
import { createSseReader } from '../../../src/extproc/sse/framing/sse-frames.js'
import { createStreamedReply, type StreamedReply } from '../../../src/extproc/sse/streamed-reply.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { err, ok } from '../../../src/kit/result.js'
import type { Webhook } from '../../../src/model/proc-entry.js'
import { type CountedTokens, guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

type Call = Parameters<WebhookPools['call']>[0]
type Answer = Awaited<ReturnType<WebhookPools['call']>>

export interface Asked {
  readonly text: string
  /** What was shown with it. */
  readonly others: readonly string[]
  readonly signal: Call['signal']
  answer(value: unknown): void
  fail(): void
  throw(error: Error): void
}

export let asked: Asked[]
export let sent: string
export let refused: string[]
export let leaving: AbortController
export let tokens: CountedTokens[]

const pools: WebhookPools = {
  call: ({ body, signal }: Call) =>
    new Promise<Answer>((resolve, reject) => {
      const { choices } = (
        JSON.parse(Buffer.from(body).toString()) as {
          body: { choices: { message: { content: string } }[] }
        }
      ).body
      signal.addEventListener('abort', () => resolve(err({ type: 'aborted' })))
      const [text = '', ...others] = choices.map(({ message }) => message.content)
      asked.push({
        text,
        others,
        signal,
        answer: (value) =>
          resolve(
            ok({ status: 200, headers: {}, body: [Buffer.from(JSON.stringify(value))] } as never),
          ),
        fail: () => resolve(err({ type: 'timeout' } as never)),
        throw: reject,
      })
    }),
  close: () => Promise.resolve(),
}

export const ALLOW = { action: {} }
export const masked = (content: string) => ({
  action: { body: { choices: [{ message: { role: 'assistant', content } }] } },
})

export const open = (...modes: readonly ('FailClosed' | 'FailOpen')[]) =>
  openEncoded(identity, modes)
export const openWith = (response: readonly Webhook[]) => openGuard(identity, response)

export function openEncoded(
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
      isOneChoice: false,
      decoder,
      reader: createSseReader(1024 * 1024),
      signal: leaving.signal,
    },
    {
      send: (text) => (sent += text),
      refuse: ({ error }) => refused.push(error.code),
    },
    { ...guardrails(pools, [], tokens), now: () => 0, logger: silent },
  )
}

export const says = (content: string, choice = 0): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: choice, delta: { content } }] })}\n\n`)
export const told = (): string =>
  [...sent.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text).join('')
/** A long text in pieces of a word. */
export const longText = (choice = 0): Buffer =>
  Buffer.concat(Array.from({ length: 210 }, () => says('word ', choice)))
/** Everything that is ready has happened. */
export const settled = () => vi.advanceTimersByTimeAsync(0)
export const LONG = 'word '.repeat(210)

/** Gives each test of the calling file a clock and a stream of its own, and expects no timer at its end. */
export function startAfreshEachTime(): void {
  beforeEach(async () => {
    // A turn in which nothing has been done yet.
    await new Promise((resolve) => setImmediate(resolve))
    // Turns between slices are real, but by a clock that stands still none of them is over before its work is done.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    asked = []
    sent = ''
    refused = []
    leaving = new AbortController()
    tokens = []
  })
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
  })
}

export const WORD = 'word '
export const words = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: count }, () => says(WORD)))
