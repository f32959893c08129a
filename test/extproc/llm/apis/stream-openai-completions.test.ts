// The chunks of a streamed completion, and mid-stream errors of OpenAI-compatible servers.

import { describe, expect, test } from 'vitest'
import { endsIn, eventOf, eventTexts, shouted } from '../support.js'

const chunk = (...choices: object[]): object => ({
  id: 'cmpl-7iA7iJjj8V2zOkCGvWF2hAkWE',
  object: 'text_completion',
  created: 1690759702,
  choices,
  model: 'gpt-3.5-turbo-instruct',
})

describe('completions', () => {
  const logprobs = {
    tokens: [' fox'],
    token_logprobs: [-0.1],
    top_logprobs: [{ ' fox': -0.1 }],
    text_offset: [2],
  }

  test('every choice', () => {
    const data = chunk(
      { text: ' fox', index: 0, logprobs: null, finish_reason: null },
      { text: ' bear', index: 1, logprobs: null, finish_reason: 'length' },
    )
    expect(eventTexts(data)).toEqual(['0 text:  fox', '1 text:  bear'])
    expect(endsIn(data)).toEqual(['1'])
    expect(eventOf(data).api).toBe('openai-completions')
  })

  test('a chunk of usage', () => {
    expect(eventTexts(chunk())).toEqual([])
    expect(eventOf(chunk()).api).toBe('openai-completions')
  })

  test('log probabilities go when their text changes', () => {
    expect(shouted(chunk({ text: ' fox', index: 0, logprobs }))).toEqual(
      chunk({ text: ' FOX', index: 0, logprobs: null }),
    )
    expect(eventTexts(chunk({ text: '', index: 0, logprobs }))).toEqual([
      '0 text: ',
      '0 logprobs:  fox',
    ])
  })
})

describe('an error of the LLM', () => {
  test.each([
    [
      'openai-chat',
      { error: { message: 'Overloaded', type: 'server_error', param: null, code: null } },
    ],
    ['openai-chat', { object: 'error', message: 'Overloaded', type: 'BadRequest', code: 400 }],
    ['openai-chat', { error: 'Overloaded', error_type: 'overloaded' }],
    ['openai-responses', { type: 'error', code: 'x', message: 'Overloaded', sequence_number: 1 }],
    [
      'openai-responses',
      { type: 'error', error: { message: 'Overloaded', code: 'x' }, sequence_number: 1 },
    ],
  ])('is text, but for its settings (%s)', (api, data) => {
    expect(eventTexts(data)).toEqual([
      expect.stringMatching(/^event (?:error|message|error message) = Overloaded$/),
    ])
    expect(eventOf(data).api).toBe(api)
  })

  test('is text where it quotes the model, too', () => {
    const error = { message: 'No.', failed_generation: '<function=bear>' }
    expect(eventTexts({ error, output: ['bear'] })).toEqual([
      'event error message = No.',
      'event error failed_generation = <function=bear>',
      'event output 0 = bear',
    ])
  })
})
