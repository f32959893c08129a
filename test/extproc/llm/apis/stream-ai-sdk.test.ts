// The events of a message stream of the AI SDK.

import { describe, expect, test } from 'vitest'
import { endsIn, eventOf, eventTexts, problemOf, shouted } from '../support.js'

const anthropic = { anthropic: { signature: 'EqQBCgIYAhIM' } }

describe('what continues', () => {
  test.each([
    ['text', { type: 'text-delta', id: 't-1', delta: 'A fo' }, ['~t-1 text: A fo']],
    ['reasoning', { type: 'reasoning-delta', id: 'r', delta: 'Hm' }, ['~r reasoning: Hm']],
    [
      'what a tool is called with',
      { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{"a"' },
      ['[tool-call] ~c input: {"a"'],
    ],
    [
      'text with a sentence as its id',
      { type: 'text-delta', id: 'a b', delta: 'A' },
      ['~a_b text: A', 'event id = a b'],
    ],
    ['text without an id', { type: 'text-delta', delta: 'A' }, ['~ text: A']],
  ])('%s', (_name, data, texts) => {
    expect(eventTexts(data)).toEqual(texts)
    expect(eventOf(data).api).toBe('ai-sdk')
    expect(endsIn(data)).toEqual([])
  })

  test('a change replaces the part in its place', () => {
    const data = { type: 'text-delta', id: 't', delta: 'fox', providerMetadata: anthropic }
    expect(shouted(data)).toEqual({ ...data, delta: 'FOX' })
  })
})

describe('what is whole', () => {
  const values = (data: unknown): string[] =>
    eventTexts(data).map((text) => text.replace(/^[^:=]* [:=] |^[^:=]*: /, ''))
  test.each([
    [{ type: 'start', messageId: 'm-1' }, []],
    [{ type: 'start-step' }, []],
    [{ type: 'text-start', id: 't', providerMetadata: anthropic }, ['']],
    [{ type: 'tool-input-start', toolCallId: 'c', toolName: 'f', title: 'A' }, ['', 'A']],
    [
      { type: 'tool-input-available', toolCallId: 'c', toolName: 'f', input: { a: 1 } },
      ['{"a":1}'],
    ],
    [{ type: 'tool-output-available', toolCallId: 'c', output: { a: 'b' } }, ['{"a":"b"}']],
    [{ type: 'tool-output-error', toolCallId: 'c', errorText: 'A' }, ['A']],
    [{ type: 'source-url', sourceId: 's', url: 'https://a.example', title: 'A' }, ['A']],
    [{ type: 'file', url: 'data:image/png;base64,iVBORw0KGgo=', mediaType: 'image/png' }, []],
    [{ type: 'data-weather', id: 'd', data: { city: 'A' } }, ['A']],
    [{ type: 'message-metadata', messageMetadata: { a: 'A' } }, ['A']],
    [{ type: 'finish', finishReason: 'content-filter' }, []],
    [{ type: 'error', errorText: 'A' }, ['A']],
    [{ type: 'abort', reason: 'A' }, ['A']],
  ])('%j', (data, texts) => {
    expect(values(data)).toEqual(texts)
    expect(eventOf(data).api).toBe('ai-sdk')
  })
})

test.each([
  [{ type: 'text-end', id: 't' }, '~t text'],
  [{ type: 'reasoning-end', id: 'r' }, '~r reasoning'],
  [{ type: 'tool-input-available', toolCallId: 'c', input: {} }, '~c input'],
  [{ type: 'finish' }, ''],
])('ends: %j', (data, ended) => {
  expect(endsIn(data)).toContain(ended)
})

test('a part that is no string is refused', () => {
  expect(problemOf({ type: 'text-delta', id: 't', delta: ['a'] })).toMatch(/delta/)
})
