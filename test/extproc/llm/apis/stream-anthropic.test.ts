// The events of a streamed message of Anthropic's API.

import { describe, expect, test } from 'vitest'
import { endsIn, eventOf, eventTexts, problemOf, shouted } from '../support.js'

const delta = (said: object): object => ({ type: 'content_block_delta', index: 1, delta: said })
const block = (said: object): object => ({
  type: 'content_block_start',
  index: 1,
  content_block: said,
})

describe('deltas', () => {
  test.each([
    ['text', { type: 'text_delta', text: 'A fo' }, ['1 text: A fo']],
    ['thinking', { type: 'thinking_delta', thinking: 'Hm' }, ['1 thinking: Hm']],
    ['a summary', { type: 'compaction_delta', content: 'So far' }, ['1 content: So far']],
    ['no summary', { type: 'compaction_delta', content: null }, []],
    ['a signature', { type: 'signature_delta', signature: 'EqQBCgIYAhIM1gbcDa9G' }, []],
    [
      'a tool call',
      { type: 'input_json_delta', partial_json: '{"to": "' },
      ['[tool-call] 1 input: {"to": "'],
    ],
    [
      'a citation',
      {
        type: 'citations_delta',
        citation: {
          type: 'char_location',
          cited_text: 'Foxes are red.',
          document_index: 0,
          document_title: 'Foxes',
          start_char_index: 0,
          end_char_index: 14,
        },
      },
      ['1 citation cited_text = Foxes are red.', '1 citation document_title = Foxes'],
    ],
    ['one that is not known, of labels', { type: 'x_delta', id: 'y' }, []],
    [
      'more than its text',
      { type: 'text_delta', text: 'A', summary: 'B' },
      ['1 text: A', '1 summary: B'],
    ],
  ])('%s', (_name, said, texts) => {
    expect(eventTexts(delta(said))).toEqual(texts)
    expect(eventOf(delta(said)).api).toBe('anthropic-messages')
  })

  test('a tool call must stay JSON', () => {
    expect(eventOf(delta({ type: 'input_json_delta', partial_json: '' })).pieces).toMatchObject([
      { isJson: true, form: 'string', role: 'tool_call' },
    ])
  })

  test('a change replaces the text in its place', () => {
    expect(shouted(delta({ type: 'text_delta', text: 'fox' }))).toEqual(
      delta({ type: 'text_delta', text: 'FOX' }),
    )
  })
})

describe('blocks', () => {
  test.each([
    ['text', { type: 'text', text: '' }, ['1 text: ']],
    [
      'text that is there already',
      { type: 'text', text: 'A', citations: [{ type: 'x', cited_text: 'B' }] },
      ['1 text: A', '1 citations 0 cited_text = B'],
    ],
    ['thinking', { type: 'thinking', thinking: '', signature: '' }, ['1 thinking: ']],
    ['hidden thinking', { type: 'redacted_thinking', data: 'EmwKAhgB' }, []],
    [
      'a tool call',
      { type: 'tool_use', id: 'toolu_1', name: 'mail', input: {} },
      ['[tool-call] 1 input: '],
    ],
    [
      'a tool call that is there already',
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a' } },
      ['[tool-call] 1 input: ', '[tool-call] 1 whole_input: {"query":"a"}'],
    ],
    [
      'what a search found',
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [
          {
            type: 'web_search_result',
            title: 'A',
            url: 'https://a.example/u',
            encrypted_content: 'Eqg',
          },
        ],
      },
      ['1 content 0 title = A'],
    ],
    [
      'a page',
      {
        type: 'web_fetch_tool_result',
        content: {
          type: 'web_fetch_result',
          content: {
            type: 'document',
            source: { type: 'text', media_type: 'text/plain', data: 'A' },
          },
        },
      },
      ['1 content content source data = A'],
    ],
    [
      'a PDF',
      {
        type: 'web_fetch_tool_result',
        content: { content: { type: 'document', source: { type: 'base64', data: 'JVBERi0' } } },
      },
      [],
    ],
    [
      'what code wrote',
      {
        type: 'bash_code_execution_tool_result',
        content: { type: 'bash_code_execution_result', stdout: 'A', stderr: 'B', content: [] },
      },
      ['1 content stdout = A', '1 content stderr = B'],
    ],
    [
      'what an advisor said',
      { type: 'advisor_tool_result', content: { type: 'advisor_result', text: 'A' } },
      ['1 content text = A'],
    ],
    [
      'an error of a tool',
      {
        type: 'text_editor_code_execution_tool_result',
        content: {
          type: 'text_editor_code_execution_tool_result_error',
          error_code: 'file_not_found',
          error_message: 'A',
        },
      },
      ['1 content error_message = A'],
    ],
    [
      'another model that goes on',
      {
        type: 'fallback',
        from: { model: 'a' },
        to: { model: 'b' },
        trigger: { type: 'refusal', category: 'cyber' },
      },
      [],
    ],
    [
      'tools of an MCP server',
      {
        type: 'mcp_tool_listing',
        mcp_server_name: 's',
        tools: [{ name: 'f', description: 'A', input_schema: { type: 'object' } }],
      },
      [],
    ],
    [
      'what an MCP server returned',
      { type: 'mcp_tool_result', is_error: false, content: [{ type: 'text', text: 'A' }] },
      ['1 content 0 text = A'],
    ],
  ])('%s', (_name, said, texts) => {
    expect(eventTexts(block(said))).toEqual(texts)
  })

  test('end', () => {
    expect(endsIn({ type: 'content_block_stop', index: 1 })).toEqual(['1'])
    expect(endsIn({ type: 'message_stop' })).toEqual([''])
  })
})

describe('the message', () => {
  const start = (content: readonly object[]): object => ({
    type: 'message_start',
    message: {
      id: 'msg_01',
      type: 'message',
      role: 'assistant',
      content,
      model: 'claude-sonnet-5',
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 25, output_tokens: 1 },
    },
  })

  test('begins', () => {
    expect(eventTexts(start([]))).toEqual([])
    expect(eventTexts(start([{ type: 'text', text: 'A' }]))).toEqual(['0 text: A'])
  })

  test.each([
    { type: 'ping' },
    { type: 'message_stop' },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 15 },
    },
    { type: 'of_tomorrow', index: 1 },
  ])('$type holds no text', (data) => {
    expect(eventTexts(data)).toEqual([])
    expect(eventOf(data).api).toBe('anthropic-messages')
  })

  test('an error is text, and hides none beside it', () => {
    const event = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    expect(eventTexts(event)).toEqual(['event error message = Overloaded'])
    expect(eventOf(event).api).toBe('anthropic-messages')
    const said = { ...delta({ type: 'text_delta', text: 'A' }), error: { message: 'x', said: 'B' } }
    const words = ['event error message = x', 'event error said = B']
    expect(eventTexts(said)).toEqual(['1 text: A', ...words])
    const error = { type: 'error', error: { message: 'x', said: 'B' }, delta: { text: 'C' } }
    expect(eventTexts(error)).toEqual([...words, 'event delta text = C'])
  })
})

test.each([
  [{ type: 'of_tomorrow', said: 'A fox' }, 'event said ='],
  [delta({ type: 'of_tomorrow', said: 'A fox' }), '1 said:'],
  [block({ type: 'of_tomorrow', said: 'A fox' }), '1 said ='],
  [delta({ type: 'text_delta', text: ['A fox'] }), '1 text 0:'],
  [delta({ type: 'text_delta', Text: 'A fox' }), '1 Text:'],
])('%o is not known, and read', (data, channel) => {
  expect(eventTexts(data)).toEqual([`${channel} A fox`])
})

test.each([
  { type: 'content_block_delta', index: 'A fox', delta: { type: 'text_delta', text: 'A fox' } },
  { type: 'content_block_delta', index: 1, delta: 'A fox' },
])('%o cannot be read, and the error does not quote it', (data) => {
  expect(problemOf(data)).toEqual(expect.any(String))
  expect(problemOf(data)).not.toContain('fox')
})
