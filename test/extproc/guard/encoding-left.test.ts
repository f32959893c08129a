// The client leaves while a changed body is encoded: the encoding stops, and nothing is sent or held.

import { expect, onTestFinished, test, vi } from 'vitest'
import { inspectReply } from '../../../src/extproc/guard/inspect-reply.js'
import { inspectRequest } from '../../../src/extproc/guard/inspect-request.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { nextTurn, PIECE } from '../../../src/kit/turns.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const SIZE = 3_000_000

const contexts = {
  request: {
    body: { messages: [{ role: 'user', content: 'a'.repeat(SIZE) }] },
    answer: { messages: [{ role: 'user', content: 'b'.repeat(SIZE) }] },
  },
  reply: {
    body: { choices: [{ index: 0, message: { role: 'assistant', content: 'a'.repeat(SIZE) } }] },
    answer: { choices: [{ message: { role: 'assistant', content: 'b'.repeat(SIZE) } }] },
  },
}

interface Left {
  readonly type: string
  /** Pieces of the changed body that were encoded. */
  readonly encoded: number
  /** Turns that passed before the client left, or before the end. */
  readonly turns: number
}

/** turns: after how many turns the client leaves; Infinity: it stays. */
async function left(what: keyof typeof contexts, turns: number): Promise<Left> {
  const { body, answer } = contexts[what]
  const bytes = Buffer.from(JSON.stringify(body))
  const action = Buffer.from(JSON.stringify({ action: { body: answer } }))
  const pools = {
    ...guardrails().pools,
    call: () =>
      Promise.resolve({
        ok: true as const,
        value: { status: 200, headers: {}, body: [action] },
      }),
  }
  const deps = { ...guardrails(pools), now: () => 0, logger: silent }
  const guard = compileGuard(guardEntry('k', { request: [webhook(1)], response: [webhook(1)] }))
  const leaving = new AbortController()
  const { signal } = leaving
  const from = vi.spyOn(Buffer, 'from')
  onTestFinished(() => from.mockRestore())
  const isEncoding = ([text]: readonly unknown[]): boolean =>
    typeof text === 'string' && text.length === PIECE && text.startsWith('bbb')
  const finding =
    what === 'request'
      ? inspectRequest({ take: () => [bytes] }, { guard, attributes: {}, signal }, deps)
      : inspectReply(
          bytes,
          { guard, headers: REPLY_HEADERS, attributes: {}, hadBody: true, signal },
          deps,
        )
  let isOver = false
  const over = finding.finally(() => (isOver = true))
  let turn = 0
  for (; turn < turns && !isOver; turn += 1) await nextTurn()
  leaving.abort()
  const { type } = await over
  const encoded = from.mock.calls.filter(isEncoding).length
  from.mockRestore()
  return { type, encoded, turns: turn }
}

const REPLY_HEADERS = new Map([
  [':status', ['200']],
  ['content-type', ['application/json']],
])

test.each(['request', 'reply'] as const)('of a %s', async (what) => {
  const whole = await left(what, Infinity)
  expect(whole.type).toBe(what === 'request' ? 'passed' : 'changed')
  expect(whole.encoded).toBeGreaterThan(SIZE / PIECE - 3)
  const found: Left[] = []
  for (let turns = whole.turns - 8; turns < whole.turns; turns += 1)
    found.push(await left(what, turns))
  const cut = found.filter(({ encoded }) => encoded > 0 && encoded < whole.encoded)
  expect(cut.length).toBeGreaterThan(0)
  expect(new Set(cut.map(({ type }) => type))).toEqual(new Set(['aborted']))
})
