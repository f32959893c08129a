// The events of AG-UI.

import { describe, expect, test } from 'vitest'
import { endsIn, eventOf, eventTexts, shouted } from '../support.js'

describe('what continues', () => {
  test.each([
    ['a message', { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'A' }, ['~m message: A']],
    [
      'reasoning',
      { type: 'REASONING_MESSAGE_CONTENT', messageId: 'm', delta: 'A' },
      ['~m reasoning: A'],
    ],
    ['thinking', { type: 'THINKING_TEXT_MESSAGE_CONTENT', delta: 'A' }, ['thinking: A']],
    [
      'arguments',
      { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{' },
      ['[tool-call] ~c call: {'],
    ],
    [
      'a first chunk',
      { type: 'TEXT_MESSAGE_CHUNK', messageId: 'm', role: 'assistant', delta: 'A' },
      ['message_chunks: A'],
    ],
    ['a later chunk', { type: 'TEXT_MESSAGE_CHUNK', delta: 'B' }, ['message_chunks: B']],
    [
      'a chunk of a call',
      { type: 'TOOL_CALL_CHUNK', toolCallId: 'c', toolCallName: 'f', delta: '{' },
      ['[tool-call] call_chunks: {'],
    ],
  ])('%s', (_name, data, texts) => {
    expect(eventTexts(data)).toEqual(texts)
    expect(eventOf(data).api).toBe('ag-ui')
    expect(endsIn(data)).toEqual([])
  })
})

describe('what is whole', () => {
  const values = (data: unknown): string[] =>
    eventTexts(data).map((text) => text.replace(/^[^:=]*[:=] /, ''))
  const message = { id: 'm', role: 'assistant', content: 'A' }
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  test.each([
    [{ type: 'RUN_STARTED', threadId: 't', runId: 'r', timestamp: 1 }, []],
    [{ type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' }, ['']],
    [{ type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f', parentMessageId: 'm' }, ['']],
    [
      { type: 'TOOL_CALL_RESULT', messageId: 'm', toolCallId: 'c', content: 'A', role: 'tool' },
      ['A'],
    ],
    [{ type: 'STATE_SNAPSHOT', snapshot: { a: 'A' } }, ['A']],
    [{ type: 'STATE_DELTA', delta: [{ op: 'add', path: 'B', value: 'A' }] }, ['add', 'B', 'A']],
    [{ type: 'MESSAGES_SNAPSHOT', messages: [{ ...message, toolCalls: [call] }] }, ['A', '{}']],
    [
      { type: 'ACTIVITY_SNAPSHOT', messageId: 'm', activityType: 'PLAN', content: { a: 'A' } },
      ['A'],
    ],
    [{ type: 'CUSTOM', name: 'a name', value: 'A' }, ['a name', 'A']],
    [{ type: 'RAW', event: { a: 'A' }, source: 'B' }, ['A', 'B']],
    [{ type: 'RUN_ERROR', message: 'A', code: 'x' }, ['A']],
    [{ type: 'RUN_FINISHED', threadId: 't', runId: 'r', result: 'A' }, ['A']],
  ])('%j', (data, texts) => {
    expect(values(data)).toEqual(texts)
    expect(eventOf(data).api).toBe('ag-ui')
  })

  test('a change is written in its place', () => {
    const data = { type: 'STATE_SNAPSHOT', snapshot: { a: 'fox' } }
    expect(shouted(data)).toEqual({ ...data, snapshot: { a: 'FOX' } })
  })
})

test.each([
  [{ type: 'TEXT_MESSAGE_END', messageId: 'm' }, '~m message'],
  [{ type: 'TOOL_CALL_END', toolCallId: 'c' }, '~c call'],
  [{ type: 'THINKING_TEXT_MESSAGE_END' }, 'thinking'],
  [{ type: 'RUN_FINISHED', threadId: 't', runId: 'r' }, ''],
])('ends: %j', (data, ended) => {
  expect(endsIn(data)).toContain(ended)
})
