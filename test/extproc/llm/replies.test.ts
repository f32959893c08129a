// Replies of every API: the texts found, what a change removes, and what is rejected because a text could be missed.

import { describe, expect, test } from 'vitest'
import { readReply } from '../../../src/extproc/llm/read-body.js'
import { lines, problemOf, replyOf } from './bodies.js'

const message = (...content: unknown[]) => ({ type: 'message', role: 'assistant', content })
const output = (...items: unknown[]) => ({ object: 'response', output: items })
const candidate = (...parts: unknown[]) => ({
  candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }],
})

describe('what is found', () => {
  test.each([
    [
      'completions',
      {
        choices: [
          { index: 0, text: 'a' },
          { index: 1, text: 'b' },
        ],
      },
      ['assistant: a', 'assistant: b'],
    ],
    [
      'blocks of Anthropic',
      message(
        { type: 'thinking', thinking: 'a', signature: 's' },
        { type: 'text', text: 'b', citations: [{ type: 'char_location', cited_text: 'c' }] },
      ),
      ['assistant: a', 'assistant: b', 'assistant: c'],
    ],
    [
      'what tools of the server could not do, and how the reply came about',
      message(
        {
          type: 'text_editor_code_execution_tool_result',
          content: {
            type: 'text_editor_code_execution_tool_result_error',
            error_code: 'file_not_found',
            error_message: 'a',
          },
        },
        {
          type: 'advisor_tool_result',
          content: { type: 'advisor_redacted_result', encrypted_content: 'e', stop_reason: 'x' },
        },
        {
          type: 'fallback',
          from: { model: 'a' },
          to: { model: 'b' },
          trigger: { type: 'refusal', category: 'cyber' },
        },
        {
          type: 'mcp_tool_listing',
          mcp_server_name: 's',
          tools: [
            {
              name: 'f',
              description: 'A',
              input_schema: { properties: { content: { type: 'string', description: 'B' } } },
            },
          ],
        },
      ),
      ['assistant: a'],
    ],
    [
      'a tool call alone',
      message({ type: 'tool_use', id: 't', name: 'f', input: { a: 1 } }),
      ['assistant: ', '[tool-call] tool_call: {"a":1}'],
    ],
    [
      'what tools of the server said',
      message(
        { type: 'server_tool_use', id: 't', name: 'web_search', input: { query: 'a' } },
        {
          type: 'web_search_tool_result',
          tool_use_id: 't',
          content: [
            {
              type: 'web_search_result',
              url: 'https://a.example/u',
              title: 'b',
              encrypted_content: 'e',
            },
          ],
        },
        {
          type: 'bash_code_execution_tool_result',
          content: {
            type: 'bash_code_execution_result',
            stdout: 'c',
            stderr: 'd',
            return_code: 0,
            content: [],
          },
        },
        {
          type: 'web_fetch_tool_result',
          content: {
            type: 'web_fetch_result',
            url: 'https://a.example/u',
            content: { type: 'document', source: { type: 'text', data: 'f' } },
          },
        },
        {
          type: 'web_search_tool_result',
          content: { type: 'web_search_tool_result_error', error_code: 'unavailable' },
        },
      ),
      [
        'assistant: b',
        'assistant: c',
        'assistant: d',
        'assistant: f',
        '[tool-call] tool_call: {"query":"a"}',
      ],
    ],
    [
      'output of Responses',
      {
        ...output(
          { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }] },
          message({ type: 'output_text', text: 'b' }, { type: 'refusal', refusal: 'c' }),
          { type: 'function_call', name: 'f', arguments: '{}' },
        ),
        output_text: 'b',
      },
      ['assistant: a', 'assistant: b', 'assistant: c', 'assistant: b', '[tool-call] tool_call: {}'],
    ],
    [
      'tools of the server of Responses',
      output(
        {
          type: 'code_interpreter_call',
          code: 'a',
          outputs: [
            { type: 'logs', logs: 'b' },
            { type: 'image', url: 'https://a.example/u' },
          ],
        },
        { type: 'mcp_call', name: 'f', arguments: '{}', output: 'c', error: null },
        {
          type: 'mcp_call',
          name: 'f',
          arguments: '{}',
          error: { type: 'http_error', code: 500, message: 'd' },
        },
        { type: 'file_search_call', queries: ['e'], results: [{ text: 'f', file_id: 'i' }] },
        { type: 'image_generation_call', result: 'AA==', revised_prompt: 'g' },
      ),
      ['a', 'b', 'c', 'd', 'e', 'f', 'g']
        .map((text) => `assistant: ${text}`)
        .concat(Array(2).fill('[tool-call] tool_call: {}')),
    ],
    [
      'output without text',
      output({ type: 'function_call', name: 'f', arguments: '{}' }),
      ['assistant: ', '[tool-call] tool_call: {}'],
    ],
    [
      'candidates of Gemini',
      {
        ...candidate(
          { text: 'a', thought: true },
          { text: 'b' },
          { functionCall: { name: 'f', args: {} } },
        ),
        modelVersion: 'm',
      },
      ['assistant: a', 'assistant: b', '[tool-call] tool_call: {}'],
    ],
    [
      'what Gemini searched for',
      {
        candidates: [
          {
            content: { parts: [{ text: 'a' }] },
            groundingMetadata: {
              webSearchQueries: ['b'],
              groundingSupports: [{ segment: { text: 'a' } }],
              groundingChunks: [{ web: { uri: 'https://a.example/u', title: 'c' } }],
            },
          },
        ],
      },
      ['assistant: a', 'assistant: b', 'assistant: a', 'assistant: c'],
    ],
    ['a prompt that Gemini refused', { promptFeedback: { blockReason: 'SAFETY' } }, []],
    [
      'why Gemini refused it',
      { promptFeedback: { blockReason: 'OTHER', blockReasonMessage: 'You said b.' } },
      ['assistant: You said b.'],
    ],
    [
      'embeddings',
      {
        object: 'list',
        model: 'm',
        data: [
          { object: 'embedding', index: 0, embedding: [0.1] },
          { object: 'embedding', index: 1, embedding: 'AACAPw==' },
        ],
        usage: { total_tokens: 1 },
      },
      [],
    ],
    [
      'a message of Cohere',
      {
        id: 'c',
        message: { role: 'assistant', tool_plan: 'a', content: [{ type: 'text', text: 'b' }] },
      },
      ['assistant: b', 'assistant: a'],
    ],
    [
      'a message of Ollama',
      { model: 'm', message: { role: 'assistant', content: 'a', thinking: 'b' }, done: true },
      ['assistant: a', 'assistant: b'],
    ],
    ['a text of Ollama', { model: 'm', response: 'a', done: true, context: [1] }, ['assistant: a']],
    ['vectors of Ollama', { model: 'm', embeddings: [[0.1]] }, []],
    [
      'a message of Bedrock',
      {
        output: {
          message: {
            role: 'assistant',
            content: [{ text: 'a' }, { toolUse: { toolUseId: 't', name: 'f', input: {} } }],
          },
          more: 'b',
        },
        stopReason: 'tool_use',
      },
      ['assistant: a', '[tool-call] tool_call: {}', 'assistant: b'],
    ],
    [
      'a conversation of Mistral',
      {
        conversation_id: 'c',
        outputs: [
          { type: 'function.call', name: 'f', arguments: '{}' },
          { type: 'message.output', role: 'assistant', content: 'a' },
          { type: 'message.output', content: [{ type: 'text', text: 'b' }] },
        ],
      },
      ['assistant: a', 'assistant: b', '[tool-call] tool_call: {}'],
    ],
    [
      'an interaction of Gemini',
      {
        id: 'v1',
        outputs: [
          { type: 'thought', summary: [{ text: 'a' }], signature: 'EqQB' },
          { type: 'text', text: 'b' },
        ],
      },
      ['assistant: a', 'assistant: b'],
    ],
    [
      'a message of a thread',
      {
        id: 'msg_1',
        object: 'thread.message',
        role: 'assistant',
        content: [{ type: 'text', text: { value: 'a', annotations: [] } }],
      },
      ['assistant: a'],
    ],
    ['a thread', { id: 'thread_1', object: 'thread', metadata: { a: 'b' } }, ['assistant: b']],
    ['an image', { created: 1, data: [{ b64_json: 'iVBORw0KGgo=' }], usage: {} }, []],
    [
      'images, and the prompts that they were made from',
      {
        data: [
          { url: 'https://a.example/i.png', revised_prompt: 'a' },
          { b64_json: 'not an image', revised_prompt: 'b' },
        ],
      },
      ['assistant: a', 'assistant: not an image', 'assistant: b'],
    ],
    [
      'what was found in inputs',
      {
        results: [
          { flagged: true, categories: { violence: true }, category_scores: { violence: 0.9 } },
          { flagged: false, why: 'a' },
        ],
      },
      ['assistant: a'],
    ],
  ])('%s', (_name, body, expected) => {
    expect(lines(replyOf(body))).toEqual(expected)
  })
})

describe('fields of servers beside the reply', () => {
  const chat = (message: object, choice: object = {}, more: object = {}) => ({
    choices: [{ index: 0, message: { role: 'assistant', content: 'a', ...message }, ...choice }],
    ...more,
  })
  test.each([
    ['llama.cpp', chat({}, {}, { __verbose: { content: 'b', tokens: [1] } })],
    ['of completions', { choices: [{ text: 'a' }], __verbose: { content: 'b' } }],
    ['in a choice', chat({}, { reasoning_content: 'b' })],
    ['in another case', chat({ Thinking: 'b' })],
    ['a page that was searched', chat({ annotations: [{ url_citation: { content: 'b' } }] })],
    [
      'vLLM',
      {
        ...output(message({ type: 'output_text', text: 'a' })),
        output_messages: [{ content: [{ type: 'text', text: 'b' }] }],
      },
    ],
    [
      'vLLM, raw',
      {
        ...output(message({ type: 'output_text', text: 'a' })),
        output_messages: [{ message: 'b', tokens: [1] }],
      },
    ],
    ['Anthropic', { ...message({ type: 'text', text: 'a' }), provider: { text: 'b' } }],
  ])('%s', (_name, body) => {
    expect(lines(replyOf(body))).toEqual(['assistant: a', 'assistant: b'])
  })

  test('repeated fields of the request', () => {
    const body = {
      ...output(message({ type: 'output_text', text: 'a' })),
      instructions: 'b',
      reasoning: { summary: 'auto' },
      metadata: {},
    }
    expect(lines(replyOf(body))).toEqual(['assistant: a', 'assistant: b'])
  })

  test.each([
    ['a block', message({ type: 'new', words: 'a' })],
    ['an item', output({ type: 'new', words: 'a' })],
    ['a part of Gemini', candidate({ words: 'a' })],
    ['a choice', { choices: [{ index: 0, words: 'a' }] }],
  ])('%s that no API is known to have', (_name, body) => {
    expect(lines(replyOf(body))).toEqual(['assistant: a'])
  })
})

describe('what is refused', () => {
  test.each([
    ['no form', { words: 'a' }],
    ['two forms', { choices: [], content: [] }],
    ['an array, which is a stream of Gemini', [candidate({ text: 'a' })]],
    ['message and text in choices', { choices: [{ message: { content: 'a' } }, { text: 'b' }] }],
    ['a delta', { choices: [{ delta: { content: 'a' } }] }],
    ['the old API of Anthropic', { completion: 'a' }],
    ['content that is a string', { content: 'a' }],
    ['text beside embeddings', { data: [{ embedding: [0.1] }], words: 'a' }],
    ['embeddings that hold objects', { data: [{ embedding: { words: 'a' } }] }],
    ['a list of completions', { data: [{ choices: [{ message: { content: 'a' } }] }] }],
  ])('%s', (_name, body) => {
    expect(problemOf(readReply, body)).toMatch(/\w/)
  })
})
