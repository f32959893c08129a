// Webhooks of mode Async: they are asked about text that has already been sent, and a reject ends the stream.

import { describe, expect, test } from 'vitest'
import { webhook } from '../support/guards.js'
import {
  ALLOW,
  asked,
  leaving,
  LONG,
  longText,
  masked,
  openWith,
  refused,
  says,
  sent,
  settled,
  startAfreshEachTime,
  told,
  words,
} from './support.js'

startAfreshEachTime()

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

  test('a reject of the last words is sent although the LLM has ended', async () => {
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
