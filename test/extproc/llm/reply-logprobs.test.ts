// Log probabilities and tokens of replies, which say again what was masked.

import { describe, expect, test } from 'vitest'
import { lines, masked, replyOf } from './bodies.js'

const message = (...content: unknown[]) => ({ type: 'message', role: 'assistant', content })
const output = (...items: unknown[]) => ({ object: 'response', output: items })

describe('log probabilities go with a change', () => {
  const tokens = [{ token: 'secret', logprob: 0 }]
  test.each([
    [
      'chat without text',
      {
        choices: [
          {
            message: { content: null },
            logprobs: { content: [...'a secret'].map((token) => ({ token, bytes: [115] })) },
          },
        ],
      },
    ],
    ['completions', { choices: [{ text: 'a secret', logprobs: { tokens: ['secret'] } }] }],
    ['Responses', output(message({ type: 'output_text', text: 'a secret', logprobs: tokens }))],
    [
      'Gemini',
      {
        candidates: [
          {
            content: { parts: [{ text: 'a secret' }] },
            logprobsResult: { chosenCandidates: tokens },
          },
        ],
      },
    ],
  ])('%s', (_name, body) => {
    expect(masked(replyOf(body))).not.toContain('secret')
    expect(lines(replyOf(body))).toContain('assistant: a secret')
  })

  test('what only they contain is shown', () => {
    const said = [{ token: 'a', top_logprobs: [{ token: 'a' }, { token: 'other' }] }]
    const choice = { message: { content: 'a' }, logprobs: { content: said } }
    expect(lines(replyOf({ choices: [choice] }))).toEqual(['assistant: a', 'assistant: other\n'])
    const hidden = { ...choice, logprobs: { content: [{ token: 'a secret' }], more: 'b' } }
    const body = { choices: [hidden] }
    expect(lines(replyOf(body))).toEqual(['assistant: a', 'assistant: a secret', 'assistant: b\n'])
    expect(masked(replyOf(body))).toContain('"logprobs":null')
  })

  test('those of Cohere, and the context of Ollama', () => {
    const message = { role: 'assistant', content: [{ type: 'text', text: 'a secret' }] }
    const logprobs = [{ token_ids: [1], text: 'a secret', logprobs: [-1] }]
    expect(masked(replyOf({ message, logprobs }))).toContain('"logprobs":null')
    expect(masked(replyOf({ response: 'a secret', context: [1] }))).toContain('"context":null')
    expect(masked(replyOf({ response: 'a', context: [1] }))).toContain('"context":[1]')
  })

  test('token ids too', () => {
    const found = replyOf({ choices: [{ message: { content: 'a secret' }, token_ids: [1, 2] }] })
    expect(masked(found)).toContain('"token_ids":null')
  })
})
