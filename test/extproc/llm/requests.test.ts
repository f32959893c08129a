// Requests of every API: the texts found, and their roles.

import { describe, expect, test } from 'vitest'
import { lines, masked, requestOf } from './bodies.js'

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const gemini = (...parts: unknown[]) => ({ contents: [{ role: 'user', parts }] })

describe('what is found', () => {
  test.each([
    ['a completion', { prompt: 'a', suffix: 'b' }, ['user: a', 'user: b']],
    ['completions', { prompt: ['a', 'b'] }, ['user: a', 'user: b']],
    ['a suffix alone', { prompt: null, suffix: 'b' }, ['user: b']],
    [
      'a prompt of chat',
      { ...user('a'), prediction: { content: 'b' } },
      ['user: a', 'assistant: b'],
    ],
    [
      'documents',
      { ...user('a'), documents: [{ title: 'b', text: 'c' }, 'd'] },
      ['user: a', 'user: b', 'user: c', 'user: d'],
    ],
    [
      'a template and what fills it',
      { ...user('a'), chat_template: 'b', chat_template_kwargs: { model_identity: 'c', n: 1 } },
      ['user: a', 'system: b', 'system: c'],
    ],
    [
      'what Ollama and llama.cpp put around a prompt',
      {
        prompt: 'a',
        template: 'b',
        input_prefix: 'c',
        input_suffix: 'd',
        input_extra: [{ filename: 'e', text: 'f' }],
      },
      ['user: a', 'system: b', 'user: c', 'user: d', 'user: e', 'user: f'],
    ],
    [
      'a system prompt beside a prompt',
      { model: 'm', system: 'a', prompt: 'b', template: 'c' },
      ['system: a', 'user: b', 'system: c'],
    ],
    [
      'blocks of Bedrock',
      {
        system: [{ text: 'a' }],
        messages: [
          {
            role: 'assistant',
            content: [
              { reasoningContent: { reasoningText: { text: 'b', signature: 'EqQB' } } },
              { toolUse: { toolUseId: 't', name: 'f', input: { x: 1 } } },
            ],
          },
          {
            role: 'user',
            content: [
              { image: { format: 'png', source: { bytes: 'iVBO' } } },
              { toolResult: { toolUseId: 't', content: [{ text: 'c' }, { json: ['d'] }] } },
            ],
          },
        ],
        toolConfig: { tools: [{ toolSpec: { name: 'f', description: 'hidden' } }] },
      },
      ['system: a', 'assistant: b', '[tool-call] tool_call: {"x":1}', 'tool: c', 'tool: ["d"]'],
    ],
    [
      'parts of the AI SDK',
      {
        messages: [
          {
            id: 'm',
            role: 'assistant',
            parts: [
              { type: 'reasoning', text: 'a' },
              {
                type: 'tool-f',
                toolCallId: 'c',
                state: 'output-available',
                input: {},
                output: 'b',
              },
            ],
          },
        ],
      },
      ['assistant: a', 'tool: "b"', '[tool-call] tool_call: {}'],
    ],
    [
      'a run of AG-UI',
      {
        threadId: 't',
        runId: 'r',
        state: { x: 'b' },
        forwardedProps: { y: 'd' },
        messages: [
          { id: 'm', role: 'user', content: 'a' },
          { id: 'n', role: 'assistant', toolCalls: [{ function: { name: 'f', arguments: '{}' } }] },
        ],
        context: [{ description: 'c', value: 'e' }],
      },
      [
        'user: a',
        'assistant: ',
        '[tool-call] tool_call: {}',
        'user: b',
        'user: d',
        'user: c',
        'user: e',
      ],
    ],
    [
      'what was said before, beside an input',
      {
        input: '',
        previous_input_messages: [
          { role: 'user', content: 'a' },
          { author: { role: 'assistant' }, content: [{ type: 'text', text: 'b' }] },
        ],
      },
      ['user: a', 'user: b', 'user: '],
    ],
    [
      'the same in what looks like something to embed',
      { input: 'a', encoding_format: 'float', previous_input_messages: [{ content: 'b' }] },
      ['user: a', 'user: b'],
    ],
    [
      'how to sum up',
      {
        ...user('a'),
        context_management: { edits: [{ type: 'compact_20260112', instructions: 'b' }] },
        compaction: { type: 'summarize', instructions: 'c' },
      },
      ['user: a', 'system: c', 'system: b'],
    ],
    [
      'a parsed file and a name in another case',
      {
        messages: [
          {
            role: 'assistant',
            content: 'a',
            Thinking: 'c',
            annotations: [{ type: 'file', file: { content: [{ type: 'text', text: 'b' }] } }],
          },
        ],
      },
      ['assistant: a', 'assistant: c', 'assistant: b'],
    ],
    ['an input', { input: 'a' }, ['user: a']],
    ['inputs to embed', { input: ['a', 'b'] }, ['user: a', 'user: b']],
    ['instructions', { instructions: 'a', input: 'b' }, ['system: a', 'user: b']],
    [
      'a kept prompt',
      { prompt: { id: 'p', variables: { x: 'a', y: { type: 'input_text', text: 'b' } } } },
      ['user: a', 'user: b'],
    ],
    [
      'messages of Responses',
      {
        input: [
          { role: 'developer', content: 'a' },
          {
            type: 'message',
            role: 'user',
            content: [
              { type: 'input_text', text: 'b' },
              { type: 'input_image', image_url: 'data:image/png;base64,iVBO' },
            ],
          },
        ],
      },
      ['developer: a', 'user: b'],
    ],
    [
      'what a model said before',
      {
        input: [
          {
            type: 'message',
            role: 'assistant',
            content: [
              {
                type: 'output_text',
                text: 'a',
                annotations: [{ type: 'new', url: 'https://a.example/u' }],
              },
              { type: 'refusal', refusal: 'b' },
            ],
          },
          {
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: 'c' }],
            content: [{ type: 'reasoning_text', text: 'd' }],
            encrypted_content: 'e',
          },
        ],
      },
      ['assistant: a', 'assistant: b', 'user: c', 'user: d'],
    ],
    [
      'tools of Responses',
      {
        input: [
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"a":1}' },
          { type: 'function_call_output', call_id: 'c', output: 'a' },
          { type: 'custom_tool_call', input: 'b' },
          { type: 'custom_tool_call_output', output: [{ type: 'input_text', text: 'c' }] },
        ],
      },
      ['[tool-call] tool_call: {"a":1}', 'tool: a', '[tool-call] tool_call: b', 'tool: c'],
    ],
    [
      'shells of Responses',
      {
        input: [
          { type: 'local_shell_call', action: { type: 'exec', command: ['ls'] } },
          {
            type: 'shell_call_output',
            output: [{ stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 0 } }],
          },
          { type: 'item_reference', id: 'i' },
        ],
      },
      ['[tool-call] tool_call: {"type":"exec","command":["ls"]}', 'tool: a', 'tool: b'],
    ],
    ['a system prompt of Anthropic', { system: 'a', ...user('b') }, ['system: a', 'user: b']],
    [
      'blocks of Anthropic',
      {
        system: [{ type: 'text', text: 'a' }],
        ...user([
          { type: 'text', text: 'b' },
          { type: 'image', source: { type: 'base64', data: 'c' } },
        ]),
      },
      ['system: a', 'user: b'],
    ],
    [
      'documents',
      user([
        {
          type: 'document',
          title: 'a',
          context: 'b',
          source: { type: 'text', media_type: 'text/plain', data: 'c' },
        },
        { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'd' }] } },
        { type: 'document', source: { type: 'base64', data: 'e' } },
        { type: 'search_result', source: 'f', title: 'g', content: [{ type: 'text', text: 'h' }] },
      ]),
      ['user: a', 'user: b', 'user: c', 'user: d', 'user: f', 'user: g', 'user: h'],
    ],
    [
      'tools of Anthropic',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'a', signature: 's' },
              { type: 'redacted_thinking', data: 'd' },
              { type: 'tool_use', id: 't', name: 'f', input: { x: [1.0, 'b'] } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 't', content: 'c' },
              { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'd' }] },
            ],
          },
        ],
      },
      ['assistant: a', '[tool-call] tool_call: {"x":[1,"b"]}', 'tool: c', 'tool: d'],
    ],
    [
      'a message of a tool call alone',
      {
        messages: [
          { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'f', input: {} }] },
        ],
      },
      ['assistant: ', '[tool-call] tool_call: {}'],
    ],
    [
      'contents of Gemini',
      {
        systemInstruction: { parts: [{ text: 'a' }] },
        contents: [
          { parts: [{ text: 'b' }, { inlineData: { mimeType: 'image/png', data: 'c' } }] },
          { role: 'model', parts: [{ text: 'd', thought: true, thoughtSignature: 's' }] },
        ],
      },
      ['system: a', 'user: b', 'assistant: d'],
    ],
    [
      'one content in place of a list',
      {
        system_instruction: { parts: { text: 'a' } },
        contents: { role: 'user', parts: { text: 'b' } },
      },
      ['system: a', 'user: b'],
    ],
    [
      'tools of Gemini',
      gemini(
        { functionCall: { name: 'f', args: { a: 'b' } } },
        { function_response: { name: 'f', response: { c: '\u00e9' } } },
      ),
      ['tool: {"c":"\u00e9"}', '[tool-call] tool_call: {"a":"b"}'],
    ],
    [
      'code of Gemini',
      gemini(
        { executableCode: { language: 'PYTHON', code: 'a' } },
        { code_execution_result: { outcome: 'OUTCOME_OK', output: 'b' } },
      ),
      ['user: a', 'tool: b'],
    ],
  ])('%s', (_name, body, expected) => {
    expect(lines(requestOf(body))).toEqual(expected)
  })
})

test('JSON that a tool was called with is shown without escapes, and changed as JSON', () => {
  const body =
    '{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input" : {"a": "s\\u0065cret", "n": 1.0}}]}], "system":"" }'
  const found = requestOf(body)
  expect(found.entries.at(-1)).toMatchObject({ content: '{"a":"secret","n":1.0}', isJson: true })
  expect(masked(found)).toBe(
    body.replace('{"a": "s\\u0065cret", "n": 1.0}', '{"a":"****","n":1.0}'),
  )
})

describe('an unknown field is a text too', () => {
  test.each([
    ['an item', { input: [{ type: 'new_call', prompt: 'a' }] }, ['user: a']],
    ['an item without a type', { input: [{ id: 'i', prompt: 'a' }] }, ['user: a']],
    ['a part', { input: [{ role: 'user', content: [{ type: 'new', words: 'a' }] }] }, ['user: a']],
    ['a member of a kept prompt', { prompt: { id: 'p', words: 'a' } }, ['user: a']],
    ['a block', user([{ type: 'new', words: 'a' }]), ['user: a']],
    [
      'a block in a tool result',
      user([{ type: 'tool_result', content: [{ type: 'new', words: 'a' }] }]),
      ['tool: a'],
    ],
    ['a source', user([{ type: 'document', source: { type: 'new', words: 'a' } }]), ['user: a']],
    ['a block of system', { system: [{ type: 'new', words: 'a' }], messages: [] }, ['system: a']],
    ['another case', user([{ type: 'text', text: 'a', Text: 'b' }]), ['user: a', 'user: b']],
    [
      'both spellings',
      {
        system_instruction: { parts: [{ text: 'b' }] },
        systemInstruction: { parts: [{ text: 'a' }] },
      },
      ['system: a', 'system: b'],
    ],
    ['a part of Gemini', gemini({ words: 'a' }), ['user: a']],
    ['a member of a content', { contents: [{ parts: [], words: 'a' }] }, ['user: a']],
    ['a member of a call', gemini({ functionCall: { name: 'f', words: 'a' } }), ['user: a']],
    [
      'other members, behind those that are known',
      { inputs: 'b', message: 'c', ...user('a'), plugins: [{ id: 'web', search_prompt: 'd' }] },
      ['user: a', 'user: b', 'user: c', 'user: d'],
    ],
    [
      'messages elsewhere, in their own roles',
      { instructions: 'a', thread: { messages: [{ role: 'assistant', content: 'b' }] } },
      ['system: a', 'assistant: b'],
    ],
    [
      'odd names in objects of no API, as JSON',
      { ...user('a'), more: { 'first name': 1, id: 'x' } },
      ['user: a', 'user: {"first name":1,"id":"x"}'],
    ],
    [
      'names that could be numbers of cards or addresses, as JSON',
      { ...user('a'), metadata: { '4111-1111-1111-1111': 'x' }, x: [{ 'bob@example.com': 1 }] },
      ['user: a', 'user: {"4111-1111-1111-1111":"x"}', 'user: {"bob@example.com":1}'],
    ],
    [
      'names of APIs, of tokens and of versions, by their values alone',
      { ...user('a'), logit_bias: { 50256: -100 }, x: { '@type': 'b', '1.2': 'c', 'a/b': 'd' } },
      ['user: a', 'user: b', 'user: c', 'user: d'],
    ],
  ])('%s', (_name, body, expected) => {
    expect(lines(requestOf(body))).toEqual(expected)
  })
})
