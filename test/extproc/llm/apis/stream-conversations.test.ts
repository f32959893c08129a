// The events of streams that tell their outputs, contents or messages apart by numbers: Mistral's conversations, Gemini's
// interactions and OpenAI's threads.

import { describe, expect, test } from 'vitest'
import { endsIn, eventOf, eventTexts, shouted } from '../support.js'

describe("Mistral's conversations", () => {
  const event = (type: string, more: object): object => ({ type, output_index: 1, ...more })
  const said = (content: unknown): object =>
    event('message.output.delta', { id: 'm', role: 'assistant', content, model: 'mistral-medium' })
  test.each([
    ['a part', said('A'), ['1 content: A']],
    ['a part in an object', said({ type: 'text', text: 'A' }), ['1 content: A']],
    [
      'thinking',
      said({ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }),
      ['1 content thinking 0 text: Hm'],
    ],
    [
      'a call',
      event('function.call.delta', { id: 'c', name: 'f', tool_call_id: 't', arguments: '{' }),
      ['[tool-call] 1 arguments: {'],
    ],
    [
      'a tool of the server',
      event('tool.execution.delta', { id: 'c', name: 'web_search', arguments: '{' }),
      ['[tool-call] 1 arguments: {'],
    ],
    [
      'what it found',
      event('tool.execution.done', { id: 'c', name: 'web_search', info: { a: 'A' } }),
      ['event info a = A'],
    ],
    [
      'an error',
      { type: 'conversation.response.error', message: 'A', code: 1 },
      ['event message = A'],
    ],
    ['a start', { type: 'conversation.response.started', conversation_id: 'conv_1' }, []],
  ])('%s', (_name, data, texts) => {
    expect(eventTexts(data)).toEqual(texts)
    expect(eventOf(data).api).toBe('mistral-conversations')
  })

  test('ends', () => {
    expect(endsIn(said('A'))).toEqual([])
    expect(endsIn({ type: 'conversation.response.done', usage: {} })).toEqual([''])
    expect(endsIn(event('tool.execution.done', { name: 'f' }))).toEqual(['1 arguments'])
  })
})

describe("Gemini's interactions", () => {
  const event = (event_type: string, more: object): object => ({ event_type, index: 1, ...more })
  test.each([
    [
      'a part of a content',
      event('content.delta', { delta: { type: 'text', text: 'A' } }),
      ['1 text: A'],
    ],
    [
      'a part of a step',
      event('step.delta', { delta: { type: 'text', text: 'A' } }),
      ['1 text: A'],
    ],
    [
      'the start of a step',
      event('step.start', {
        step: { type: 'model_output', content: [{ type: 'text', text: 'A' }] },
      }),
      ['1 text: A'],
    ],
    [
      'a summary of thoughts',
      event('step.delta', {
        delta: { type: 'thought_summary', content: { type: 'text', text: 'A' } },
      }),
      ['1 content text: A'],
    ],
    [
      'a signature',
      event('step.delta', { delta: { type: 'thought_signature', signature: 'EqQB' } }),
      [],
    ],
    [
      'a call',
      event('step.delta', { delta: { type: 'arguments_delta', arguments: '{' } }),
      ['[tool-call] 1 arguments: {'],
    ],
    [
      'an interaction',
      {
        event_type: 'interaction.completed',
        interaction: { id: 'v1_1', object: 'interaction', status: 'completed', model: 'gemini-3' },
      },
      [],
    ],
    [
      'an error',
      { event_type: 'error', error: { code: 'x', message: 'A' } },
      ['event error message = A'],
    ],
  ])('%s', (_name, data, texts) => {
    expect(eventTexts(data)).toEqual(texts)
    expect(eventOf(data).api).toBe('gemini-interactions')
  })

  test('ends', () => {
    expect(endsIn(event('step.stop', {}))).toEqual(['1'])
    expect(endsIn({ event_type: 'interaction.completed', interaction: {} })).toEqual([''])
  })
})

describe("OpenAI's threads", () => {
  const part = (index: number, value: string, annotations: object[] = []): object => ({
    index,
    type: 'text',
    text: { value, annotations },
  })
  const delta = (...content: object[]): object => ({
    id: 'msg_1',
    object: 'thread.message.delta',
    delta: { content },
  })
  test('parts of messages, and what they refer to', () => {
    const annotation = { type: 'file_citation', text: 'B', file_citation: { file_id: 'file-1' } }
    const data = delta(part(1, 'A', [annotation]))
    expect(eventTexts(data).map((text) => text.replace(' =', ':'))).toEqual([
      'content 1 text value: A',
      'content 1 text annotations 0 text: B',
    ])
    expect(eventOf(data).api).toBe('openai-threads')
    expect(endsIn(data)).not.toContain('content 1 text value')
  })

  test('parts of steps', () => {
    const calls = [
      { index: 0, id: 'c', type: 'code_interpreter', code_interpreter: { input: 'x =' } },
      { index: 1, type: 'function', function: { name: 'f', arguments: '{' } },
    ]
    const details = { type: 'tool_calls', tool_calls: calls }
    const data = { object: 'thread.run.step.delta', id: 's', delta: { step_details: details } }
    expect(eventTexts(data)).toEqual([
      '[tool-call] tool_calls 0 code_interpreter input: x =',
      '[tool-call] tool_calls 1 function arguments: {',
    ])
  })

  test('a message repeats its parts, and ends', () => {
    const data = {
      id: 'msg_1',
      object: 'thread.message',
      thread_id: 'thread_1',
      status: 'completed',
      content: [part(0, 'fox')],
    }
    expect(eventTexts(data)).toEqual(['content 0 text value = fox'])
    expect(endsIn(data)).toEqual([''])
    expect(shouted(data)).toEqual({ ...data, content: [part(0, 'FOX')] })
    expect(endsIn({ ...data, content: [] })).toEqual([])
  })

  test('a run has instructions', () => {
    const data = { id: 'run_1', object: 'thread.run', instructions: 'A', status: 'queued' }
    expect(eventTexts(data)).toEqual(['event instructions = A'])
  })
})
