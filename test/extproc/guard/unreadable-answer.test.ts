// A request whose reply could not be read is refused before the model is asked, where the reply would be refused.

import { describe, expect, test } from 'vitest'
import { inspectRequest } from '../../../src/extproc/guard/inspect-request.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import type { Webhook } from '../../../src/model/proc-entry.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

async function found(response: readonly Webhook[], body: object, path: string) {
  let asked = 0
  const pools = {
    ...guardrails().pools,
    call: () => {
      asked += 1
      const answer = Buffer.from('{"action":{}}')
      return Promise.resolve({
        ok: true as const,
        value: { status: 200, headers: {}, body: [answer] },
      })
    },
  }
  const deps = { ...guardrails(pools), now: () => 0, logger: silent }
  const guard = compileGuard(guardEntry('k', { request: [webhook(1)], response }))
  const attributes = { request: { pathAndQuery: path, headers: new Map() } } as never
  const context = { guard, attributes, signal: new AbortController().signal }
  const finding = await inspectRequest(
    { take: () => [Buffer.from(JSON.stringify(body))] },
    context,
    deps,
  )
  return { finding, asked }
}

const speech = { model: 'm', input: 'a', voice: 'alloy' }

describe('a request for speech', () => {
  test('is 400 if the reply would be refused, and no webhook is asked', async () => {
    const { finding, asked } = await found([webhook(1)], speech, '/v1/audio/speech')
    expect(asked).toBe(0)
    expect(finding).toMatchObject({ type: 'refused', reply: { status: 400 } })
    const { body } = (finding as { reply: { body: Uint8Array } }).reply
    expect(Buffer.from(body).toString()).toContain(
      "The guardrail could not read the reply: the request is for OpenAI's speech API.",
    )
  })

  test.each([
    ['nobody reads replies', []],
    ['a reply that cannot be read passes', [webhook(1, { failureMode: 'FailOpen' })]],
  ])('passes if %s', async (_name, response) => {
    const { finding, asked } = await found(response, speech, '/v1/audio/speech')
    expect(finding.type).toBe('passed')
    expect(asked).toBe(1)
  })
})

test('any other request passes', async () => {
  const chat = { messages: [{ role: 'user', content: 'a' }] }
  const { finding } = await found([webhook(1)], chat, '/v1/chat/completions')
  expect(finding.type).toBe('passed')
})
