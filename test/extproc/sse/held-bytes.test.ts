// What streamed replies hold counts towards the bytes of all bodies while it is held, and nothing remains after any
// end.

import { setTimeout as later } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { gzipDecoder } from '../../../src/extproc/encodings/decode-reply.js'
import { identity } from '../../../src/extproc/encodings/decoder.js'
import { createHeldBytes, type HeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { eventStream, type Framing, jsonArray } from '../../../src/extproc/sse/framing.js'
import { createStreamedReply, type StreamedReply } from '../../../src/extproc/sse/streamed-reply.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { err, ok } from '../../../src/kit/result.js'
import type { Webhook } from '../../../src/model/proc-entry.js'
import { eventually } from '../../../testing/eventually.js'
import { flushed } from '../../support/encoded-stream.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const MB = 1024 * 1024

let heldBytes: HeldBytes
let leaving: AbortController
let sent: string
let refused: string[]
let answers: ((value: object | 'fail' | 'throw') => void)[]

const pools: WebhookPools = {
  call: ({ signal }) =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => resolve(err({ type: 'aborted' })))
      answers.push((value) => {
        if (value === 'throw') reject(new Error('a bug'))
        else if (value === 'fail') resolve(err({ type: 'aborted' }))
        else
          resolve(
            ok({ status: 200, headers: {}, body: [Buffer.from(JSON.stringify(value))] } as never),
          )
      })
    }),
  close: () => Promise.resolve(),
}

beforeEach(() => {
  heldBytes = createHeldBytes(MB)
  leaving = new AbortController()
  sent = ''
  refused = []
  answers = []
})

interface Opened {
  readonly framing?: Framing
  readonly decoder?: typeof identity
  readonly hook?: Partial<Webhook>
}

const open = ({ framing = eventStream(MB), decoder = identity, hook = {} }: Opened = {}) =>
  createStreamedReply(
    {
      guard: compileGuard(guardEntry('k', { response: [webhook(1, hook)] })),
      attributes: {},
      isOneChoice: false,
      decoder,
      reader: framing.reader,
      signal: leaving.signal,
    },
    {
      send: (text) => (sent += text),
      refuse: ({ error }) => refused.push(error.code),
    },
    { ...guardrails(pools), heldBytes, now: () => 0, logger: silent },
  )

const says = (content: string): Buffer =>
  Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`)
const ALLOW = { action: {} }
const REJECT = { action: { body: 'no', status_code: 403 } }

test('what is held counts three times, the beginning of an event once, and what has left no more', async () => {
  const reply = open()
  const event = says('some words '.repeat(20))
  await reply.push(event)
  expect(heldBytes.held()).toBe(3 * event.length)
  await reply.push(event.subarray(0, 9))
  expect(heldBytes.held()).toBe(3 * event.length + 9)
  await reply.push(event.subarray(9))
  expect(heldBytes.held()).toBe(6 * event.length)
  await answered(ALLOW)(reply)
  expect(sent).toBe(`${event.toString()}${event.toString()}`)
  expect(heldBytes.held()).toBe(0)
})

test('what a webhook of mode Async has not seen counts too', async () => {
  const reply = open({ hook: { mode: 'Async' } })
  await reply.push(says('some words'))
  expect(heldBytes.held()).toBeGreaterThan(0)
  await answered(ALLOW)(reply)
  expect(heldBytes.held()).toBe(0)
})

type Ending = (reply: StreamedReply) => Promise<void> | void
const answered =
  (answer: object | 'fail' | 'throw'): Ending =>
  async (reply) => {
    const end = reply.end()
    await eventually(() => expect(answers).toHaveLength(1))
    answers[0]?.(answer)
    await end
  }
const ENDINGS: readonly (readonly [string, Ending, string | undefined])[] = [
  ['done', answered(ALLOW), undefined],
  ['rejected', answered(REJECT), 'content_filter'],
  ['without a verdict', answered('fail'), 'guardrail_unavailable'],
  ['with a bug', answered('throw'), 'guardrail_unavailable'],
  [
    'that cannot be read',
    (reply) => reply.push(Buffer.from('data: {"x\n\n')),
    'guardrail_unreadable',
  ],
  ['left', () => leaving.abort(), undefined],
  [
    'left at its end',
    async (reply) => {
      const end = reply.end()
      leaving.abort()
      await end
    },
    undefined,
  ],
]

test.each(ENDINGS)('a stream %s leaves nothing counted', async (_name, ending, code) => {
  const reply = open()
  await reply.push(says('word '.repeat(30)))
  expect(heldBytes.held()).toBeGreaterThan(0)
  await ending(reply)
  expect(refused).toEqual(code === undefined ? [] : [code])
  expect(heldBytes.held()).toBe(0)
  // Later bytes are dropped.
  await reply.push(says('more'))
  answers.forEach((answer) => answer(ALLOW))
  await later(0)
  expect(heldBytes.held()).toBe(0)
})

test('an array, compressed, that is left while it is decoded leaves nothing counted', async () => {
  const reply = open({ framing: jsonArray(MB), decoder: gzipDecoder({ maxBytes: MB }) })
  const text = JSON.stringify({
    candidates: [{ content: { role: 'model', parts: [{ text: 'word' }] }, index: 0 }],
  })
  const [first = Buffer.of(), second = Buffer.of()] = await flushed('gzip', [
    `[${text}`,
    `,${text}`,
  ])
  await reply.push(first)
  expect(heldBytes.held()).toBeGreaterThan(text.length)
  const pushed = reply.push(second)
  leaving.abort()
  await pushed
  expect(heldBytes.held()).toBe(0)
})

test('beyond the budget: an error that says so, and others go on', async () => {
  heldBytes = createHeldBytes(2000)
  const [first, second] = [open(), open()]
  await first.push(says('a'.repeat(200)))
  const held = heldBytes.held()
  await second.push(says('b'.repeat(800)))
  expect(refused).toEqual(['guardrail_busy'])
  expect(heldBytes.held()).toBe(held)
  await answered(ALLOW)(first)
  expect(sent).toContain('aaa')
  expect(sent).not.toContain('bbb')
  expect(heldBytes.held()).toBe(0)
})
