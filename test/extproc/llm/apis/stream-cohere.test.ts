// The events of a streamed reply of Cohere's chat.

import { describe, expect, test } from 'vitest'
import { endsIn, eventOf, eventTexts, problemOf, shouted } from '../support.js'

const said = (type: string, message: object, more: object = {}): object => ({
  type,
  index: 1,
  delta: { message },
  ...more,
})

describe('what continues', () => {
  test.each([
    ['text', said('content-delta', { content: { text: 'A fo' } }), ['1 content text: A fo']],
    [
      'thinking',
      said('content-delta', { content: { thinking: 'Hm' } }),
      ['1 content thinking: Hm'],
    ],
    [
      'the start of text',
      said('content-start', { content: { type: 'text', text: '' } }),
      ['1 content text: '],
    ],
    [
      'a plan, whose events have no index',
      { type: 'tool-plan-delta', delta: { message: { tool_plan: 'I will' } } },
      ['tool_plan: I will'],
    ],
    [
      'a call',
      said('tool-call-start', {
        tool_calls: { id: 'f_1', type: 'function', function: { name: 'f', arguments: '' } },
      }),
      ['[tool-call] 1 tool_calls: '],
    ],
    [
      'its arguments',
      said('tool-call-delta', { tool_calls: { function: { arguments: '{"a"' } } }),
      ['[tool-call] 1 tool_calls: {"a"'],
    ],
    ['a member that is not known', said('content-delta', { words: 'a' }), ['1 words: a']],
  ])('%s', (_name, data, texts) => {
    expect(eventTexts(data)).toEqual(texts)
    expect(eventOf(data).api).toBe('cohere')
    expect(endsIn(data)).not.toContain('1 content')
  })

  test('log probabilities go when their text changes', () => {
    const data = said(
      'content-delta',
      { content: { text: 'fox' } },
      { logprobs: { token_ids: [1], text: 'fox', logprobs: [-0.1] } },
    )
    expect(shouted(data)).toEqual({
      ...data,
      delta: { message: { content: { text: 'FOX' } } },
      logprobs: null,
    })
  })
})

describe('what is whole', () => {
  test('a citation', () => {
    const sources = [{ type: 'document', id: 'doc:0', document: { title: 'B' } }]
    const data = said('citation-start', { citations: { start: 0, end: 1, text: 'A', sources } })
    expect(eventTexts(data).map((text) => text.replace(/^.*[:=] /, ''))).toEqual(['A', 'B'])
  })

  test('the start and the end of a message', () => {
    const start = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }
    expect(eventTexts({ type: 'message-start', id: 'm-1', delta: { message: start } })).toEqual([
      'tool_plan: ',
    ])
    const end = { type: 'message-end', id: 'm-1', delta: { finish_reason: 'COMPLETE', usage: {} } }
    expect(eventTexts(end)).toEqual([])
    expect(endsIn(end)).toContain('')
    const failed = { type: 'message-end', delta: { finish_reason: 'ERROR', error: 'No fox.' } }
    expect(eventTexts(failed)).toEqual(['delta error = No fox.'])
  })
})

test.each([
  [{ type: 'content-end', index: 1 }, '1 content'],
  [{ type: 'tool-call-end', index: 1 }, '1 tool_calls'],
  [said('tool-call-start', { tool_calls: { id: 'f_1' } }), 'tool_plan'],
])('ends: %j', (data, ended) => {
  expect(endsIn(data)).toContain(ended)
})

test('what has another form is refused', () => {
  expect(problemOf({ type: 'content-delta', delta: 'a' })).toMatch(/delta/)
  expect(problemOf({ type: 'content-delta', delta: { message: 'a' } })).toMatch(/message/)
})
