// Replies that no model has spoken: lists, errors, counts and bodies that are not JSON.

import { describe, expect, test } from 'vitest'
import { readReply, readWords, type ReplyKind } from '../../../src/extproc/llm/read-body.js'
import { rewrite } from '../../../src/extproc/llm/text/conversation.js'
import { atOnce } from '../../../src/kit/turns.js'
import { lines } from './bodies.js'

const message = (...content: unknown[]) => ({ type: 'message', role: 'assistant', content })

describe('replies without a text of a model', () => {
  const read = (kind: ReplyKind, body: unknown): readonly string[] => {
    const found = atOnce(readReply(new TextEncoder().encode(JSON.stringify(body)), kind))
    if (!found.ok) throw new Error(found.error)
    return lines(found.value)
  }

  test('a list of models has no text, a stored reply does', () => {
    const models = { object: 'list', data: [{ id: 'm', object: 'model', owned_by: 'o' }] }
    expect(read('any', models)).toEqual([])
    const stored = { data: [{ choices: [{ message: { role: 'assistant', content: 'a' } }] }] }
    expect(read('any', stored)).toEqual(['assistant: a'])
    const said = [{ thinking: 'a' }, { refusal: 'b' }, { transcript: 'c' }]
    expect(read('any', said)).toEqual(['assistant: a', 'assistant: b', 'assistant: c'])
  })

  test('of an error all but its settings is text', () => {
    const error = { message: 'b', type: 'rate_limit', code: 'x', param: 'messages[0]' }
    const both = ['assistant: b', 'assistant: a']
    expect(read('error', { error: { ...error, failed_generation: 'a' } })).toEqual(both)
    expect(read('error', { object: 'error', message: 'b', said: 'a' })).toEqual(both)
    expect(read('error', { detail: [{ loc: ['body', 0], msg: 'b', input: 'a' }] })).toEqual(both)
    expect(read('error', { error: 'b', errors: ['a'] })).toEqual(both)
    expect(read('error', [{ error }, 'a'])).toEqual(both)
    const filtered = { hate: { filtered: false, severity: 'safe' } }
    const innererror = { code: 'ResponsibleAIPolicyViolation', content_filter_result: filtered }
    expect(read('error', { error: { ...error, innererror } })).toEqual(['assistant: b'])
    expect(read('error', message({ type: 'text', text: 'a' }))).toEqual(['assistant: a'])
    expect(read('error', { choices: [{ message: 'a' }] })).toEqual(['assistant: a'])
    expect(read('error', { error: { said: { message: 'a' } } })).toEqual(['assistant: a'])
  })

  test('a body that is not JSON is one text, which may change or vanish', () => {
    for (const [body, now] of [
      ['<p>a fox</p>\n', '<p>a "bear"</p>'],
      ['a fox', ''],
    ] as const) {
      const found = atOnce(readWords(new TextEncoder().encode(body), '/v1/messages'))
      if (!found.ok) throw new Error(found.error)
      expect(found.value.api).toBe('anthropic-messages')
      expect(lines(found.value)).toEqual([`assistant: ${body}`])
      expect(atOnce(rewrite(found.value, [body]))).toBe(body)
      expect(atOnce(rewrite(found.value, [now]))).toBe(now)
    }
    expect(atOnce(readWords(Buffer.from(' \n')))).toMatchObject({ value: { entries: [] } })
    expect(atOnce(readWords(Buffer.of(0xff)))).toEqual({ ok: false, error: 'not UTF-8' })
  })

  test.each([
    ['chat', message({ type: 'text', text: 'a' })],
    ['a failed response', { object: 'response', status: 'failed', output: [] }],
    ['a chat of choices', { choices: [{ message: { role: 'assistant', content: 'a' } }] }],
  ])('an error beside the words of a model is shown: %s', (_name, reply) => {
    const error = { code: 'server_error', message: 'Say fox.' }
    expect(read('model', { ...reply, error })).toContain('assistant: Say fox.')
    expect(read('any', { ...reply, error: 'Say fox.' })).toContain('assistant: Say fox.')
  })

  test.each([
    ['Anthropic', { input_tokens: 14 }],
    ['OpenAI', { object: 'response.input_tokens', input_tokens: 14 }],
    ['Gemini', { totalTokens: 14, promptTokensDetails: [{ modality: 'TEXT', tokenCount: 14 }] }],
  ])('a count of tokens has no text: %s', (_name, counted) => {
    expect(read('model', counted)).toEqual([])
    expect(read('model', { ...counted, said: 'a' })).toEqual(['assistant: a'])
  })
})
