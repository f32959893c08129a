// A compressed reply counts as what it becomes: a few kilobytes may hold as much as a body may have.

import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { inspectReply, type ReplyFinding } from '../../../src/extproc/guard/inspect-reply.js'
import { createHeldBytes, type HeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const MB = 1024 * 1024
const TEXT = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'x'.repeat(MB) } }],
})
const ALLOW = { status: 200, headers: {}, body: [Buffer.from('{"action":{}}')] }

/** Inspects a reply. onAsked: called when a webhook is asked. */
function inspect(
  bytes: Buffer,
  encoding: string,
  heldBytes: HeldBytes,
  onAsked: () => void,
): Promise<ReplyFinding> {
  const call = vi.fn(() => {
    onAsked()
    return Promise.resolve({ ok: true as const, value: ALLOW })
  })
  const deps = {
    ...guardrails({ ...guardrails().pools, call }),
    now: () => 0,
    logger: silent,
    heldBytes,
    maxBodyBytes: 4 * MB,
  }
  const headers = new Map([
    [':status', ['200']],
    ['content-encoding', [encoding]],
  ])
  const guard = compileGuard(guardEntry('k', { response: [webhook(1)] }))
  const { signal } = new AbortController()
  return inspectReply(bytes, { guard, headers, attributes: {}, hadBody: true, signal }, deps)
}

test.each([
  ['gzip', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['zstd', zstdCompressSync(TEXT)],
  ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
])('in %s', async (encoding, bytes) => {
  const heldBytes = createHeldBytes(8 * MB)
  const asked: number[] = []
  const found = await inspect(bytes, encoding, heldBytes, () => asked.push(heldBytes.held()))
  expect(found.type).toBe('changed')
  expect(asked).toEqual([expect.any(Number)])
  expect(asked[0]).toBeGreaterThanOrEqual(3 * TEXT.length)
  expect(heldBytes.held()).toBe(0)
})

test.each([
  ['beyond the budget', 2 * MB],
  ['where others hold all but little', 3 * MB],
])('%s it is 503, and what it has become is given back', async (_, budget) => {
  const heldBytes = createHeldBytes(budget)
  const other = heldBytes.open()
  other.add(budget / 2)
  const asked: number[] = []
  const found = await inspect(gzipSync(TEXT), 'gzip', heldBytes, () => asked.push(1))
  expect(found).toMatchObject({ type: 'refused', reply: { status: 503 } })
  expect(JSON.stringify(found)).toContain('as much as they may')
  expect([asked, heldBytes.held()]).toEqual([[], budget / 2])
})
