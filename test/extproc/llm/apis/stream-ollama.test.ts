// The lines of a streamed reply of Ollama.

import { describe, expect, test } from 'vitest'
import { endsIn, eventOf, eventTexts, problemOf, shouted } from '../support.js'

const around = { model: 'llama3.2', created_at: '2025-10-17T23:14:07.414671123Z', done: false }
const line = (message: object): object => ({
  ...around,
  message: { role: 'assistant', ...message },
})

describe('what continues', () => {
  test.each([
    ['a message', line({ content: 'A' }), ['message content: A']],
    [
      'thinking',
      line({ content: '', thinking: 'Hm' }),
      ['message content: ', 'message thinking: Hm'],
    ],
    ['one text', { ...around, response: 'A' }, ['reply response: A']],
    [
      'its thinking',
      { ...around, response: '', thinking: 'Hm' },
      ['reply response: ', 'reply thinking: Hm'],
    ],
    [
      'a call, which is whole',
      line({ content: '', tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] }),
      ['message content: ', '[tool-call] message tool_calls 0 function arguments: {"a":1}'],
    ],
  ])('%s', (_name, data, texts) => {
    expect(eventTexts(data)).toEqual(texts)
    expect(eventOf(data).api).toBe('ollama')
  })

  test('a change replaces the text in its place', () => {
    expect(shouted(line({ content: 'fox' }))).toEqual(line({ content: 'FOX' }))
  })
})

test('thinking ends where the model speaks, and all with the last line', () => {
  expect(endsIn(line({ content: 'A' }))).toEqual(['message thinking', 'reply thinking'])
  expect(endsIn(line({ content: '', thinking: 'A' }))).toEqual([])
  const last = { ...line({ content: '' }), done: true, done_reason: 'stop', eval_count: 1 }
  expect(eventTexts(last)).toEqual(['message content: '])
  expect(endsIn(last)).toEqual([''])
})

test('the context goes when the text beside it changes', () => {
  const data = { ...around, response: 'fox', context: [1, 2], done: true }
  expect(shouted(data)).toEqual({ ...data, response: 'FOX', context: null })
})

test('an error, and a line of another form', () => {
  expect(eventTexts({ error: 'No fox.' })).toEqual(['event error = No fox.'])
  expect(problemOf({ ...around, message: { role: 'a sentence', content: 'a' } })).toMatch(/role/)
})
