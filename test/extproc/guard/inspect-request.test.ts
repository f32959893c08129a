// Work on a body of many values stops when its client disconnects, at any step.

import { expect, test } from 'vitest'
import { inspectRequest } from '../../../src/extproc/guard/inspect-request.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const MODIFY = JSON.stringify({
  action: { body: { messages: Array(3_000).fill({ role: 'user', content: 'b' }) } },
})

/** turns: number of turns after which the client leaves. */
async function inspected(turns: number): Promise<{ type: string; asked: number }> {
  const messages = Array(3_000).fill({ role: 'user', content: 'a' })
  const body = Buffer.from(JSON.stringify({ messages }))
  const leaving = new AbortController()
  let asked = 0
  const pools = {
    ...guardrails().pools,
    call: () => {
      asked += 1
      return Promise.resolve({
        ok: true as const,
        value: { status: 200, headers: {}, body: [Buffer.from(MODIFY)] },
      })
    },
  }
  const deps = { ...guardrails(pools), now: () => 0, logger: silent }
  const guard = compileGuard(guardEntry('k', { request: [webhook(1)] }))
  const found = inspectRequest(
    { take: () => [body] },
    { guard, attributes: {}, signal: leaving.signal },
    deps,
  )
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  leaving.abort()
  return { type: (await found).type, asked }
}

test('a client that leaves while its body is worked on is waited for no more, whenever it leaves', async () => {
  const first = await inspected(0)
  expect(first).toEqual({ type: 'aborted', asked: 0 })
  let turns = 1
  const found = [first]
  for (; found.at(-1)?.type === 'aborted'; turns += 1) found.push(await inspected(turns))
  expect(found.at(-1)).toEqual({ type: 'passed', asked: 1 })
  expect(found.filter(({ type, asked }) => type === 'aborted' && asked === 1)).not.toEqual([])
  expect(turns).toBeGreaterThan(10)
})
