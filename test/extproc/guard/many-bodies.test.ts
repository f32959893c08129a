// Many bodies that end at once, and many that are freed at once: a turn of the event loop has few of them.

import { setImmediate as immediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createGuardProcessor } from '../../../src/extproc/guard/guard-processor.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import type { Processor } from '../../../src/extproc/session/processor.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import type { CallResult } from '../../../src/kit/http/webhook-call.js'
import { ok } from '../../../src/kit/result.js'
import { slowClock } from '../../support/slow-clock.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const COUNT = 60
const MOST_IN_A_TURN = 10
/** Messages of a body. */
const PIECES = 8
const FULL_DUPLEX = { requestBodyMode: 4, responseBodyMode: 4 }
const POST = new Map([
  [':method', ['POST']],
  [':path', ['/v1/chat/completions']],
])
const OK = new Map([[':status', ['200']]])

interface Played {
  readonly processors: readonly Processor[]
  /** Answers the calls of webhooks that wait. */
  readonly allow: () => void
  /** Number of calls, of messages sent, and of bytes held, until now. */
  readonly counts: () => { calls: number; sent: number; held: number }
  /** Ends all streams. */
  readonly leave: () => void
}

function play(): Played {
  const waiting: (() => void)[] = []
  let [calls, sent] = [0, 0]
  const pools = {
    call: () =>
      new Promise<CallResult>((resolve) => {
        calls += 1
        waiting.push(() => resolve(ok({ status: 200, body: [Buffer.from('{"action":{}}')] })))
      }),
    close: () => Promise.resolve(),
  }
  const hooks = [webhook(1)]
  const guard = compileGuard(guardEntry('k', { request: hooks, response: hooks }))
  const heldBytes = createHeldBytes(1e9)
  const deps = { ...guardrails(pools), heldBytes, now: () => 0, logger: silent }
  const ending = new OwnEnding()
  const stream = () => ({ send: () => void (sent += 1), signal: ending })
  return {
    processors: Array.from({ length: COUNT }, () => createGuardProcessor(guard, stream(), deps)),
    allow: () => waiting.splice(0).forEach((answer) => answer()),
    counts: () => ({ calls, sent, held: heldBytes.held() }),
    leave: () => ending.abort(),
  }
}

const part = (text: string, endOfStream: boolean) => ({ body: Buffer.from(text), endOfStream })

/** Counts in each turn what the counter rose by, until the work is done. */
async function byTurn(count: () => number, work: Promise<unknown>): Promise<readonly number[]> {
  let isDone = false
  void work.then(() => (isDone = true))
  const counts: number[] = []
  for (let last = count(); !isDone;) {
    await immediate()
    counts.push(count() - last)
    last = count()
  }
  return counts
}

const chat = (size: number) =>
  JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(size) }] })
const completion = (size: number) =>
  JSON.stringify({
    choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(size) } }],
  })

test.each(['request', 'reply'] as const)(
  'each %s that ends in the same turn has its own, with the work of a few others',
  async (what) => {
    slowClock()
    const { processors, allow, counts } = play()
    const send = (processor: Processor, text: string, isLast: boolean) =>
      what === 'request'
        ? processor.requestBody(part(text, isLast))
        : processor.responseBody(part(text, isLast))
    for (const processor of processors) {
      const isWhole = what === 'reply'
      const first = { config: FULL_DUPLEX }
      await processor.requestHeaders({ headers: POST, endOfStream: isWhole }, first)
      if (isWhole) await processor.responseHeaders({ headers: OK, endOfStream: false }, {})
      await send(processor, what === 'request' ? chat(100_000) : completion(100_000), false)
    }
    const asked = processors.map(async (processor) => send(processor, '', true))
    const turns: number[] = []
    for (let last = 0; last < COUNT;) {
      await immediate()
      turns.push(counts().calls - last)
      last = counts().calls
    }
    expect(Math.max(...turns)).toBeLessThan(MOST_IN_A_TURN)
    allow()
    await Promise.all(asked)
  },
)

test('bodies that webhooks allow in the same turn leave in many', async () => {
  slowClock()
  const { processors, allow, counts } = play()
  const asked = processors.map(async (processor) => {
    await processor.requestHeaders({ headers: POST, endOfStream: false }, { config: FULL_DUPLEX })
    await processor.requestBody(part(chat(PIECES * 65_000), true))
  })
  while (counts().calls < COUNT) await immediate()
  const before = counts().sent
  allow()
  const turns = await byTurn(() => counts().sent, Promise.all(asked))
  expect(counts().sent - before).toBe(COUNT * (1 + PIECES))
  expect(Math.max(...turns)).toBeLessThan(2 * COUNT + MOST_IN_A_TURN * PIECES)
})

test.each(['request', 'reply'] as const)(
  'a client that leaves while its %s is sent on: the rest is not, and nothing is held',
  async (what) => {
    const { processors, allow, counts, leave } = play()
    const [processor] = processors
    if (processor === undefined) throw new Error('none')
    const isWhole = what === 'reply'
    const first = { config: FULL_DUPLEX }
    await processor.requestHeaders({ headers: POST, endOfStream: isWhole }, first)
    if (isWhole) await processor.responseHeaders({ headers: OK, endOfStream: false }, {})
    const [before, size] = [counts().sent, PIECES * 65_000]
    const sending = isWhole
      ? processor.responseBody(part(completion(size), true))
      : processor.requestBody(part(chat(size), true))
    while (counts().calls === 0) await immediate()
    allow()
    while (counts().sent <= before + 1) await immediate()
    leave()
    await sending
    expect(counts().sent).toBeLessThan(before + 1 + PIECES)
    expect(counts().held).toBe(0)
  },
)
