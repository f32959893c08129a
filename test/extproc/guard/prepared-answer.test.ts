// An answer that was encoded while webhooks were asked is sent only for the body it was encoded for, and says the same as
// one that was not.

import { describe, expect, test } from 'vitest'
import { RequestAnswer } from '../../../src/extproc/guard/request-guard.js'
import { prepareAnswer } from '../../../src/extproc/session/prepared-answer.js'
import { OwnEnding } from '../../../src/kit/ending.js'

const FORM = { change: () => ({ set: { 'accept-encoding': 'identity' }, remove: ['range'] }) }

type Passed = Parameters<RequestAnswer['send']>[0]

/** Returns the messages that are sent. prepared: what the answer was encoded for before. */
function sent(request: Passed, hasTrailers: boolean, prepared?: Uint8Array): readonly string[] {
  const messages: string[] = []
  const stream = {
    send: (message: Uint8Array) => messages.push(Buffer.from(message).toString('latin1')),
    signal: new OwnEnding(),
  }
  const answer = new RequestAnswer(FORM, stream, hasTrailers, false)
  if (prepared !== undefined) answer.prepare(prepared)
  expect(messages).toEqual([])
  void answer.send(request)
  return messages
}

const BODY = Buffer.from('{"messages":[]}')
const CHANGED = Buffer.from('{"messages":[1]}')
const LONG = Buffer.alloc(20_000, 'x')

describe.each([false, true])('a request, with trailers: %s', (hasTrailers) => {
  test.each([
    ['the same body', { body: BODY }, BODY],
    ['another body', { body: CHANGED }, BODY],
    ['other headers', { body: BODY, headers: { 'x-name': 'a' } }, BODY],
    ['a long body', { body: LONG }, LONG],
  ])('is answered alike for %s', (_name, request: Passed, prepared) => {
    expect(sent(request, hasTrailers, prepared)).toEqual(sent(request, hasTrailers))
  })
})

test('only a short body is encoded before it is known whether it passes', () => {
  const stream = { send: () => undefined, signal: new OwnEnding() }
  let isWritten = false
  const prepare = (body: Uint8Array) => prepareAnswer(body, stream, () => (isWritten = true))
  expect(prepare(LONG)).toBeUndefined()
  expect(isWritten).toBe(false)
  expect(prepare(BODY)).toEqual({ body: BODY, messages: [] })
})
