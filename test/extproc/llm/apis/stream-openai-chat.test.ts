// The chunks of a streamed chat completion, from OpenAI and from servers with their own variants of its API.

import { describe, expect, test } from 'vitest'
import { READ_TEXTS, readStreamEvent } from '../../../../src/extproc/llm/stream-read.js'
import { atOnce } from '../../../../src/kit/turns.js'
import { endsIn, eventOf, eventTexts, problemOf, rewritten, shouted } from '../support.js'

const chunk = (...choices: object[]): object => ({
  id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
  object: 'chat.completion.chunk',
  created: 1741569952,
  model: 'gpt-5.4',
  service_tier: 'default',
  system_fingerprint: 'fp_44709d6fcb',
  choices,
  usage: null,
  obfuscation: 'kY3vzn',
})

const delta = (said: object, more: object = {}): object =>
  chunk({ index: 0, delta: said, logprobs: null, finish_reason: null, ...more })

describe('the texts of a chunk', () => {
  test.each([
    ['the first one', delta({ role: 'assistant', content: '', refusal: null }), ['0 content: ']],
    ['text', delta({ content: ' fox' }), ['0 content:  fox']],
    ['text in an empty role', delta({ role: '', content: ' fox' }), ['0 content:  fox']],
    ['a refusal', delta({ refusal: 'I can' }), ['0 refusal: I can']],
    ['reasoning', delta({ content: null, reasoning: 'Hm' }), ['0 reasoning: Hm']],
    ['reasoning_content', delta({ reasoning_content: 'Hm' }), ['0 reasoning_content: Hm']],
    [
      'reasoning details',
      delta({ reasoning_details: [{ type: 'reasoning.text', text: 'Hm', index: 0 }] }),
      ['0 reasoning_details 0 text: Hm'],
    ],
    ['speech', delta({ audio: { id: 'audio_1', transcript: 'Hel' } }), ['0 audio transcript: Hel']],
    [
      'a member that is not known',
      delta({ plan: { Text: 'x', id: 'y' } }),
      ['0 plan Text: x', '0 plan id: y'],
    ],
    [
      'parts',
      delta({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
          { type: 'text', text: 'Yes' },
          { type: 'refusal', refusal: 'No' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'reference', reference_ids: [1] },
        ],
      }),
      ['0 content thinking 0 text: Hm', '0 content: Yes', '0 content refusal: No'],
    ],
    [
      'every choice',
      chunk({ index: 1, delta: { content: 'a' } }, { index: 0, delta: { content: 'b' } }),
      ['1 content: a', '0 content: b'],
    ],
    [
      'text beside the delta',
      delta({ content: 'a' }, { text: 'a' }),
      ['0 text: a', '0 content: a'],
    ],
  ])('%s', (_name, data, said) => {
    expect(eventTexts(data)).toEqual(expect.arrayContaining(said))
    expect(eventTexts(data)).toHaveLength(said.length)
  })

  test.each([
    ['usage', chunk()],
    [
      'the content filter for the prompt',
      {
        ...chunk(),
        prompt_filter_results: [
          {
            prompt_index: 0,
            content_filter_results: { hate: { filtered: false, severity: 'safe' } },
          },
        ],
      },
    ],
    [
      'the content filter for the reply',
      chunk({
        index: 0,
        finish_reason: null,
        content_filter_results: { violence: { filtered: false, severity: 'safe' } },
        content_filter_offsets: { check_offset: 44, start_offset: 44, end_offset: 198 },
      }),
    ],
    ['an empty delta', delta({})],
  ])('nothing in %s', (_name, data) => {
    expect(eventTexts(data)).toEqual([])
    expect(eventOf(data).api).toBe('openai-chat')
  })

  test('tool calls: a channel for each, JSON for functions', () => {
    const data = delta({
      tool_calls: [
        { index: 0, id: 'call_1', type: 'function', function: { name: 'mail', arguments: '' } },
        { index: 1, function: { arguments: '{"to":' } },
        { index: 2, id: 'call_3', type: 'custom', custom: { name: 'run', input: 'SELECT' } },
      ],
      function_call: { name: 'old', arguments: '{"a"' },
    })
    expect(eventTexts(data)).toEqual([
      '[tool-call] 0 tool_calls 0: ',
      '[tool-call] 0 tool_calls 1: {"to":',
      '[tool-call] 0 tool_calls 2: SELECT',
      '[tool-call] 0 function_call: {"a"',
    ])
    expect(eventOf(data).pieces.map(({ isJson }) => isJson)).toEqual([true, true, undefined, true])
  })

  test('a whole message at the end repeats the deltas', () => {
    const data = chunk({
      index: 0,
      delta: { content: '' },
      message: {
        role: 'assistant',
        content: 'A fox.',
        reasoning_content: 'Hm.',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      finish_reason: 'stop',
    })
    expect(eventTexts(data)).toEqual([
      '0 content: ',
      '0 content = A fox.',
      '0 reasoning_content = Hm.',
      '[tool-call] 0 tool_calls 0 = {}',
    ])
  })

  test('an error beside text hides none of it', () => {
    const data = {
      ...delta({ content: 'a fox' }),
      error: { message: 'Overloaded', code: 'overloaded', failed_generation: 'the bear' },
    }
    expect(eventTexts(data)).toEqual([
      '0 content: a fox',
      'event error message = Overloaded',
      'event error failed_generation = the bear',
    ])
  })
})

describe('what a chunk ends', () => {
  test.each([
    ['its choice, with a finish_reason', delta({}, { finish_reason: 'stop' }), ['0']],
    ['nothing, without', delta({ content: '' }, { finish_reason: null }), []],
    [
      'one choice of several',
      chunk(
        { index: 0, delta: { refusal: 'a' } },
        { index: 1, delta: { refusal: 'b' }, finish_reason: 'length' },
      ),
      ['1'],
    ],
    [
      'thinking, when text begins',
      delta({ content: 'Yes' }),
      expect.arrayContaining(['0 reasoning']),
    ],
    ['no thinking that goes on', delta({ content: '', reasoning: 'Hm' }), []],
  ])('%s', (_name, data, ends) => {
    expect(endsIn(data)).toEqual(ends)
  })
})

describe('log probabilities', () => {
  const logprobs = {
    content: [{ token: ' fox', logprob: -0.1, bytes: [32], top_logprobs: [] }],
    refusal: null,
  }

  test('go when the text beside them changes', () => {
    expect(shouted(delta({ content: ' fox' }, { logprobs }))).toEqual(delta({ content: ' FOX' }))
    const event = eventOf(delta({ content: ' fox' }, { logprobs }))
    expect(rewritten(event, { pieces: [undefined], repeats: [] })).toBe(event.json.text)
    expect(rewritten(event, { pieces: [' fox'], repeats: [] })).toBe(event.json.text)
  })

  test('are the text where there is no other', () => {
    expect(eventTexts(delta({ content: '' }, { logprobs }))).toEqual([
      '0 content: ',
      '0 logprobs:  fox',
    ])
  })
})

test('a change replaces the text in its place, and nothing else changes', () => {
  const data = '{ "choices":[ {"delta":{"content":"a\\u0062","x":1.0},"index":0}],\n"n":1e2}'
  const written = rewritten(eventOf(data), { pieces: ['"\n\u2028'], repeats: [] })
  expect(written).toBe(
    '{ "choices":[ {"delta":{"content":"\\"\\n\u2028","x":1.0},"index":0}],\n"n":1e2}',
  )
})

test.each([
  [
    'no choices',
    { ...(chunk() as { choices: unknown }), choices: null, sla_metrics: { ttft: 12 } },
  ],
  ['an empty list of them', chunk()],
  ['an empty object', {}],
  ['usage alone', { usage: { total_tokens: 3 } }],
  ['a frame of the server', { x_heartbeat: 4, ok: true }],
])('%s has no text', (_name, data) => {
  expect([problemOf(data), eventTexts(data), endsIn(data)]).toEqual([undefined, [], []])
})

test('what a frame of the server says is a text', () => {
  expect(eventTexts({ x_notice: 'Busy today' })).toEqual(['event x_notice = Busy today'])
})

test.each([
  [-1, '~-1'],
  ['0', '0'],
  ['a', '~a'],
  [null, '0'],
])('the index %j is that of a choice and of a call', (index, word) => {
  const calls = [{ index, id: 't', function: { name: 'f', arguments: '{' } }]
  expect(eventTexts(chunk({ index, delta: { content: 'A', tool_calls: calls } }))).toEqual([
    `${word} content: A`,
    `[tool-call] ${word} tool_calls ${word}: {`,
  ])
})

test('of one choice that was asked for, no index makes another', () => {
  const data = JSON.stringify(chunk({ index: 7, delta: { content: 'A' }, finish_reason: 'stop' }))
  const one = atOnce(readStreamEvent(data, { ...READ_TEXTS, isOneChoice: true }))
  expect(one).toMatchObject({ value: { pieces: [{ channel: '0 content' }], ends: ['0'] } })
})

test.each([
  ['not JSON', '{"choices":[', 'an event of the stream cannot be read: not JSON'],
  [
    'a member twice',
    '{"choices":[],"choices":[]}',
    'an event of the stream cannot be read: a member is there twice',
  ],
  ['no object', '"secret"', 'an event is not an object'],
  ['other letters', '{"Choices":[],"choices":[]}', 'a member is spelt otherwise than choices'],
  ['content in other letters', delta({ Content: 'x' }), 'a member is spelt otherwise than content'],
  ['content that is a number', delta({ content: 1 }), 'content is not an array'],
  ['a text as index', chunk({ index: 'a fox', delta: {} }), 'an index could be a text'],
  ['no index', chunk({ index: {}, delta: {} }), 'an index is neither a number nor a string'],
  ['two forms', { choices: [], candidates: [] }, 'an event is of two forms at once'],
])('%s cannot be read', (_name, data, problem) => {
  expect(problemOf(data)).toEqual(problem)
})
