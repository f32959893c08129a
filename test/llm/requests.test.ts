// Requests of every API: which texts are found, whose they are, and what is refused because something could be missed.

import { describe, expect, test } from 'vitest'
import { readRequest } from '../../src/llm/read-body.js'
import { lines, masked, problemOf, requestOf } from './bodies.js'

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
        ...{ prompt: 'a', template: 'b', input_prefix: 'c', input_suffix: 'd' },
        input_extra: [{ filename: 'e', text: 'f' }],
      },
      ['user: a', 'system: b', 'user: c', 'user: d', 'user: e', 'user: f'],
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
            ...{ role: 'assistant', content: 'a', Thinking: 'c' },
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
              { type: 'input_image', image_url: 'data:c' },
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
              { type: 'output_text', text: 'a', annotations: [{ type: 'new', url: 'u' }] },
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

describe('what no API is known to say is a text too', () => {
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
  ])('%s', (_name, body, expected) => {
    expect(lines(requestOf(body))).toEqual(expected)
  })
})

describe('settings', () => {
  const settings = {
    ...{ model: 'meta-llama/Llama-3.1-8B-Instruct:free', user: 'u_1', reasoning_effort: 'high' },
    ...{ service_tier: 'auto', prompt_cache_key: 'a.b', safety_identifier: 'x', stream: true },
    ...{ response_format: { type: 'json_object' }, tool_choice: { function: { name: 'f' } } },
    ...{
      metadata: { run: 'r-1' },
      reasoning: { effort: 'low', summary: 'auto' },
      logit_bias: { 50256: -100 },
    },
    ...{
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'wav' },
      include: ['a.b'],
    },
    ...{ cache_control: { type: 'ephemeral', ttl: '5m' }, betas: ['x-2025-01-01'] },
    ...{ tools: [{ type: 'function', function: { name: 'f', description: 'what it does' } }] },
    ...{ generationConfig: { responseMimeType: 'audio/pcm;rate=24000' }, temperature: 1 },
    ...{ safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] },
  }

  test('of the shape that they should have are no texts', () => {
    expect(lines(requestOf({ ...user('a'), ...settings }))).toEqual(['user: a'])
  })

  test.each([
    { user: 'tell me a secret' },
    { model: 'm, and tell me a secret' },
    { metadata: { run: 'tell me a secret' } },
    { reasoning_effort: 'x'.repeat(65) },
    { prompt_cache_key: 'x'.repeat(257) },
    { tools: 'tell me a secret' },
    { tools: ['tell me a secret'] },
    { reasoning: { summary: 'secret' } },
    { mcp_servers: [{ url: 'https://a.example/ and a secret' }] },
  ])('%j is a text', (more) => {
    expect(requestOf({ ...user('a'), ...more }).entries).toHaveLength(2)
  })

  test.each([
    ['an image', { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } }, 0],
    ['its address', { type: 'image_url', image_url: { url: 'https://a.example/i.png?x=%20' } }, 0],
    ['no base64', { type: 'image_url', image_url: { url: 'data:text/plain,a secret' } }, 1],
    ['base64 of a text', { type: 'file', file: { file_data: 'data:text/plain;base64,YQ==' } }, 0],
    ['sound', { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } }, 0],
    ['no sound', { type: 'input_audio', input_audio: { data: 'a secret', format: 'wav' } }, 1],
    ['encrypted thinking', { type: 'redacted_thinking', data: 'EmwKAhgB' }, 0],
    ['no encrypted thinking', { type: 'redacted_thinking', data: 'a secret' }, 1],
  ])('%s', (_name, part, texts) => {
    expect(requestOf(user([{ type: 'text', text: 'a' }, part])).entries).toHaveLength(1 + texts)
  })
})

const deep = { tokens: [1], b: { tokens: [1], b: 'a' } }

describe('what is refused', () => {
  test.each([
    ['no form', {}],
    ['no form, but other members', { model: 'm', query: 'a' }],
    ['messages and input', { ...user('a'), input: 'b' }],
    ['messages and contents', { ...user('a'), contents: [] }],
    ['messages and a prompt', { ...user('a'), prompt: 'b' }],
    ['input and a prompt of completions', { input: 'a', prompt: 'b' }],
    ['tokens', { prompt: [1, 2] }],
    ['lists of tokens', { prompt: [[1], [2]] }],
    ['tokens to embed', { input: [1, 2] }],
    ['vectors', { prompt: 'a', prompt_embeds: 'AA==' }],
    ['tokens of what was said before', { prompt: 'a', context: [1, 2] }],
    ['tokens before a prompt', { prompt: 'a', input_prefix: [1, 2] }],
    ['tokens in a prompt', { prompt: { prompt_string: [1, 2] } }],
    ['tokens among strings of a prompt', { prompt: { prompt_string: ['a', [1, 'b']] } }],
    ['tokens beside messages', { messages: [], token_ids: [1, 2] }],
    ['tokens that no API has', { ...user('a'), draft: [[1], 'b'] }],
    ['a message of tokens', user([1, 2])],
    ['a text of tokens', user([{ type: 'text', text: [[1, 2]] }])],
    ['an odd name of a variable', { prompt: { id: 'a', variables: { 'b c': 'd' } } }],
    ['strings and items', { input: ['a', { type: 'message', role: 'user', content: 'b' }] }],
    ['items and strings', { input: [{ type: 'message', role: 'user', content: 'b' }, 'a'] }],
    ['System', { ...user('a'), System: 'b' }],
    ['System_Instruction', { ...gemini(), System_Instruction: {} }],
    ['a role that is a sentence', { messages: [{ role: 'user, or not', content: 'a' }] }],
    ['an odd name of a member', { ...user('a'), 'a name with spaces': 1 }],
    ['an odd name in a message', { messages: [{ role: 'user', content: 'a', 'b c': 1 }] }],
    ['a system instruction that is a string', { ...gemini(), systemInstruction: 'a' }],
    ['a system prompt that is a number', { ...user('a'), system: 1 }],
    ['an array', [user('a')]],
    ['more values than are looked at', { ...user('a'), more: Array(30_001).fill('') }],
    [
      'texts that are repeated at too many depths',
      { ...user('a'), more: { tokens: [1], b: { tokens: [1], b: { tokens: [1], b: deep } } } },
    ],
  ])('%s', (_name, body) => {
    expect(problemOf(readRequest, body)).toMatch(/\w/)
    expect(problemOf(readRequest, body)).not.toMatch(/words|"a"/)
  })
})

test('lists of numbers that are settings pass', () => {
  const settings = {
    ...{ stop_token_ids: [1], allowed_token_ids: [1], logit_bias: [[1, -1]], eos_token_id: [1] },
    ...{ bad_words_ids: [[1]], bounds: [] },
  }
  expect(lines(requestOf({ ...user('a'), ...settings }))).toEqual(['user: a'])
})

describe('the API', () => {
  test.each([
    ['openai-chat', user('a'), ''],
    ['openai-chat', user('a'), '/v1/chat/completions'],
    ['anthropic-messages', user('a'), '/anthropic/v1/messages?beta=true'],
    ['anthropic-messages', { ...user('a'), system: 'b' }, ''],
    ['openai-completions', { prompt: 'a' }, ''],
    ['openai-responses', { input: 'a' }, '/v1/responses'],
    ['openai-embeddings', { input: 'a' }, '/v1/embeddings'],
    ['openai-embeddings', { input: ['a'] }, '/v1/responses'],
    ['openai-responses', { instructions: 'a', input: 'b' }, '/v1/embeddings'],
    ['gemini', gemini({ text: 'a' }), '/v1/messages'],
  ])('%s', (api, body, path) => {
    expect(requestOf(body, path).api).toBe(api)
  })
})
