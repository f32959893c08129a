// The reason of a verdict: what is accepted as one, how much of it is shown, and which rejections have it.

import { expect, test } from 'vitest'
import { rejectReply } from '../../../src/extproc/guard/guard-reply.js'
import { streamError } from '../../../src/extproc/llm/stream-error.js'
import { streamRefusalOf } from '../../../src/extproc/sse/streamed-reply.js'
import { readVerdict } from '../../../src/extproc/webhook/webhook-answer.js'

const BODY = { messages: [{ role: 'user', content: 'b' }] }
const SHOWN = [{ role: 'user', content: 'a', isJson: false, isWritable: true }]

async function reasonIn(action: object): Promise<unknown> {
  const answer = new TextEncoder().encode(JSON.stringify({ action }))
  const verdict = await readVerdict([answer], 'request', SHOWN)
  return verdict.ok ? verdict.value.reason : verdict.error
}

test.each([
  ['an allow', {}],
  ['a modify', { body: BODY }],
  ['a reject', { body: '', status_code: 403 }],
])('%s may have a reason; what is no text, or says nothing, is ignored', async (_name, action) => {
  expect(await reasonIn({ ...action, reason: 'a name' })).toBe('a name')
  for (const reason of [undefined, null, '', 7, true, ['a'], { a: 'b' }])
    expect(await reasonIn({ ...action, reason })).toBeUndefined()
})

test('of a reason as long as an answer may be, only the beginning is kept', async () => {
  const reason = 'x'.repeat(1_000_000)
  expect(await reasonIn({ reason })).toHaveLength(65_536)
})

const reject = (status: number, text: string, reason?: string) => ({
  type: 'reject' as const,
  status,
  text,
  ...(reason !== undefined && { reason }),
})
const bodyOf = (status: number, text: string, reason?: string): string =>
  Buffer.from(rejectReply('openai-chat', reject(status, text, reason)).body).toString()

test('a reply: a text of the webhook stays, and so does what is no error or has no reason', () => {
  expect(bodyOf(403, 'blocked', 'why')).toBe('blocked')
  for (const status of [200, 204, 304, 399]) expect(bodyOf(status, '', 'why')).toBe('')
  expect(bodyOf(403, '')).toBe('')
  for (const status of [400, 599])
    expect(JSON.parse(bodyOf(status, '', 'why'))).toMatchObject({
      error: { message: 'why', code: 'content_filter', reason: 'why' },
    })
})

test.each(['openai-chat', 'openai-responses', 'anthropic-messages', 'gemini'] as const)(
  'the event that ends a stream (%s)',
  (api) => {
    const errorOf = (text: string, reason?: string): unknown => {
      const event = streamError(api, streamRefusalOf(reject(403, text, reason)).error)
      return (JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '') as { error: unknown }).error
    }
    expect(errorOf('blocked', 'why')).toMatchObject({ message: 'blocked', reason: 'why' })
    expect(errorOf('', 'why')).toMatchObject({ message: 'why', reason: 'why' })
    expect(errorOf('blocked')).toMatchObject({ message: 'blocked' })
    expect(errorOf('blocked')).not.toHaveProperty('reason')
  },
)
