// The client leaves while a compressed reply is decoded: no webhook is asked, and nothing is refused, logged or counted.

import { gzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { inspectReply } from '../../../src/extproc/guard/inspect-reply.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const REPLY = gzipSync(
  JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' } }] }),
)
const HEADERS = new Map([
  [':status', ['200']],
  ['content-type', ['application/json']],
  ['content-encoding', ['gzip']],
])
const ALLOW = { status: 200, headers: {}, body: [Buffer.from('{"action":{}}')] }

test.each([
  ['whole', REPLY, 'changed'],
  ['damaged', REPLY.subarray(0, REPLY.length - 9), 'refused'],
])('a %s one', async (_, bytes, kept) => {
  for (const failureMode of ['FailClosed', 'FailOpen'] as const) {
    const call = vi.fn(() => Promise.resolve({ ok: true as const, value: ALLOW }))
    const warn = vi.fn()
    const deps = {
      ...guardrails({ ...guardrails().pools, call }),
      now: () => 0,
      logger: { ...silent, warn },
    }
    const guard = compileGuard(guardEntry('k', { response: [webhook(1, { failureMode })] }))
    const inspect = (signal: AbortSignal) =>
      inspectReply(bytes, { guard, headers: HEADERS, attributes: {}, hadBody: true, signal }, deps)
    const leaving = new AbortController()
    const left = inspect(leaving.signal)
    leaving.abort()
    expect(await left).toEqual({ type: 'aborted' })
    expect([call.mock.calls.length, warn.mock.calls.length]).toEqual([0, 0])
    const isUnread = kept === 'refused' && failureMode === 'FailOpen'
    const { type } = await inspect(new AbortController().signal)
    expect(type).toBe(isUnread ? 'unread' : kept)
  }
})
