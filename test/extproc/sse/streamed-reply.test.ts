// A streamed reply in isolation: every way in which a webhook, a window or the stream can fail, and what remains of it.

import { expect, test, vi } from 'vitest'
import { identity } from '../../../src/extproc/encodings/decoder.js'
import { webhook } from '../support/guards.js'
import {
  ALLOW,
  asked,
  leaving,
  LONG,
  longText,
  masked,
  open,
  openEncoded,
  openWith,
  refused,
  says,
  sent,
  settled,
  startAfreshEachTime,
  told,
  WORD,
  words,
} from './support.js'

startAfreshEachTime()

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

test('one window of a text at a time, those of other texts beside it', async () => {
  const reply = open('FailClosed')
  await reply.push(Buffer.concat([longText(), longText(1), longText()]))
  const shown = asked.map(({ text, others }) => [text.slice(0, 10), others.length])
  expect(shown).toEqual([
    ['word word ', 0],
    ['word word ', 0],
    // The beginning of the second text, with the first by itself, and both joined.
    ['word ', 2],
  ])
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
  expect(asked.map(({ signal }) => signal.aborted)).toEqual([true, true, true])
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

test('reading pauses while much is unseen, until a webhook has answered', async () => {
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
  await closed.push(Buffer.from('data: {"choices":"x"}\n\n'))
  await closed.end()
  expect([sent, refused]).toEqual(['', ['guardrail_unreadable']])
  refused.length = 0
  const unread = 'data: {"choices":"x"}\n\ndata: y\n\n'
  const reply = open('FailOpen')
  await reply.push(Buffer.concat([says('hi'), Buffer.from(unread)]))
  expect(sent).toBe('')
  asked[0]?.answer(ALLOW)
  await reply.end()
  expect([sent, refused]).toEqual([says('hi').toString() + unread, []])
})
