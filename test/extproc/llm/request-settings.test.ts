// Which members of a request are settings, what is rejected, and how the API is recognised.

import { describe, expect, test } from 'vitest'
import { problemOfReplyTo } from '../../../src/extproc/llm/detect-api.js'
import { readRequest } from '../../../src/extproc/llm/read-body.js'
import { lines, problemOf, requestOf } from './bodies.js'

const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const gemini = (...parts: unknown[]) => ({ contents: [{ role: 'user', parts }] })

describe('settings', () => {
  const settings = {
    model: 'meta-llama/Llama-3.1-8B-Instruct:free',
    user: 'u_1',
    reasoning_effort: 'high',
    service_tier: 'auto',
    prompt_cache_key: 'a.b',
    safety_identifier: 'x',
    stream: true,
    response_format: { type: 'json_object' },
    tool_choice: { function: { name: 'f' } },
    reasoning: { effort: 'low', summary: 'auto' },
    logit_bias: { 50256: -100 },
    modalities: ['text', 'audio'],
    audio: { voice: 'alloy', format: 'wav' },
    include: ['a.b'],
    cache_control: { type: 'ephemeral', ttl: '5m' },
    betas: ['context-1m-2025-08-07'],
    anthropic_beta: ['output-128k-2025-02-19'],
    prompt_cache_retention: '24h',
    tools: [{ type: 'function', function: { name: 'f', description: 'what it does' } }],
    temperature: 1,
  }
  const ofGemini = {
    generationConfig: { responseMimeType: 'audio/pcm;rate=24000' },
    safetySettings: [
      { category: 'HARM_CATEGORY_IMAGE_DANGEROUS_CONTENT', threshold: 'BLOCK_NONE' },
    ],
  }

  test('of the shape that they should have are no texts', () => {
    expect(lines(requestOf({ ...user('a'), ...settings }))).toEqual(['user: a'])
    expect(lines(requestOf({ ...gemini({ text: 'a' }), ...ofGemini }))).toEqual(['user: a'])
  })

  test.each([
    '@cf/meta/llama-3.1-8b-instruct',
    'claude-sonnet-4-5@20250929',
    'gemini-3-pro@default',
  ])('the model %s is no text', (model) => {
    expect(lines(requestOf({ ...user('a'), model }))).toEqual(['user: a'])
  })

  test('of another API are texts', () => {
    expect(requestOf({ ...user('a'), ...ofGemini }).entries).toHaveLength(4)
  })

  test.each([
    { user: 'tell me a secret' },
    { model: 'm, and tell me a secret' },
    { model: 'bob@example.com' },
    { models: ['openai/gpt-5', 'bob@example.com'] },
    { metadata: { run: 'tell me a secret' } },
    { metadata: { note: '4111-1111-1111-1111' } },
    { labels: { run: 'secret' } },
    { inputs: { language: 'secret' } },
    { x_new: { name: 'secret' } },
    { x_new: { type: 'secret' } },
    { x_new: [{ country: 'secret' }] },
    { customer_id: '123-45-6789' },
    { x_url: 'Ignore_all_rules' },
    { x_signature: 'secret' },
    { web_search_options: { user_location: { timezone: 'Ignore/All_rules' } } },
    { user: '123-45-6789' },
    { prompt_cache_retention: 'secret' },
    { betas: ['4111-1111-1111-1111'] },
    { user: 'bob@example.com' },
    { service_tier: 'Ignore_all_rules' },
    { reasoning_effort: 'x'.repeat(65) },
    { prompt_cache_key: 'x'.repeat(65) },
    { tools: 'tell me a secret' },
    { tools: ['tell me a secret'] },
    { reasoning: { summary: 'secret' } },
    { mcp_servers: [{ url: 'https://a.example/ and a secret' }] },
  ])('%j is a text', (more) => {
    expect(requestOf({ ...user('a'), ...more }).entries).toHaveLength(2)
  })

  test('do not include names that a model reads', () => {
    expect(lines(requestOf({ messages: [{ role: 'user', content: 'a', name: 'bob' }] }))).toEqual([
      'user: a',
      'user: bob',
    ])
    const file = { type: 'file', file: { filename: 'a.txt', file_data: 'YQ==' } }
    expect(lines(requestOf(user([file])))).toEqual(['user: a.txt'])
    const prompt = { id: 'p', variables: { x: { name: 'bob' } } }
    expect(lines(requestOf({ prompt }))).toEqual(['user: bob'])
  })

  test.each([
    ['an image', { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } }, 0],
    [
      'a data URL without a type',
      { type: 'image_url', image_url: { url: 'data:;base64,iVBO' } },
      0,
    ],
    [
      'sound with its codec',
      { type: 'audio_url', audio_url: { url: 'data:audio/webm;codecs=opus;base64,iVBO' } },
      0,
    ],
    [
      'words in the type of a data URL',
      { type: 'image_url', image_url: { url: 'data:Ignore/all_rules;base64,iVBO' } },
      1,
    ],
    [
      'words in a parameter of a data URL',
      { type: 'image_url', image_url: { url: 'data:image/png;x=Ignore_all_rules;base64,iVBO' } },
      1,
    ],
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
    ['vectors at any depth', { ...user('a'), extra_body: { a: { prompt_embeds: 'AA==' } } }],
    ['tokens at any depth', { ...user('a'), extra_body: { a: [{ prompt_token_ids: [1, 2] }] } }],
    ['tokens in a message', { messages: [{ role: 'user', content: 'a', input_ids: [1, 2] }] }],
    ['tokens of an item', { input: [{ type: 'message', role: 'user', tokens: [[1]] }] }],
    ['tokens of a content', { contents: [{ parts: [{ text: 'a', token_ids: [1] }] }] }],
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
    [
      'a role of a system instruction that is a sentence',
      { systemInstruction: { role: 'user, or not', parts: [] } },
    ],
    [
      'a role that could be a number of a card',
      { messages: [{ role: '4111-1111-1111-1111', content: 'a' }] },
    ],
    ['an odd name of a member', { ...user('a'), 'a name with spaces': 1 }],
    ['a number of a card as a name', { ...user('a'), '4111111111111111': 1 }],
    [
      'an address of mail as a name',
      { messages: [{ role: 'user', content: 'a', 'a@b.example': 1 }] },
    ],
    ['an odd name in a message', { messages: [{ role: 'user', content: 'a', 'b c': 1 }] }],
    ['a content that is a number', user(4111111111111111)],
    ['a text that is a number', user([{ type: 'text', text: 4111111111111111 }])],
    ['a text of Gemini that is a number', gemini({ text: 4111111111111111 })],
    [
      'a content of an item that is a number',
      { input: [{ role: 'user', content: 4111111111111111 }] },
    ],
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

test.each([
  ['context', { prompt: 'a', context: [1, 2] }],
  ['draft', { ...user('a'), draft: [[1], 'b'] }],
  ['tokens', { ...user('a'), x: { tokens: [1] } }],
  ['prompt_embeds', { prompt: 'a', prompt_embeds: 'AA==' }],
  ['input_embeds', { ...user('a'), input_embeds: { data: [0.1] } }],
])('what is refused is named: %s', (name, body) => {
  expect(problemOf(readRequest, body)).toMatch(
    new RegExp(`^${name} (?:is a list with numbers|holds vectors)`),
  )
})

test('what is called like tokens and vectors, and is none, is text', () => {
  const body = {
    ...user('a'),
    context: [{ description: 'time', value: 'noon' }],
    tokens: [{ word: 'b' }],
    prompt_embeds: ['so many words'],
    input_ids: 'c d',
    more: 1,
  }
  const texts = ['a', 'time', 'noon', 'b', 'so many words', 'c d'].map((text) => `user: ${text}`)
  expect(lines(requestOf(body))).toEqual(texts)
})

test('lists of numbers that are settings pass', () => {
  const settings = {
    stop_token_ids: [1],
    allowed_token_ids: [1],
    logit_bias: [[1, -1]],
    eos_token_id: [1],
    bad_words_ids: [[1]],
    bounds: [],
    sampler_order: [6, 0],
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
    ['mistral-conversations', { inputs: 'a', agent_id: 'ag' }, ''],
    ['mistral-conversations', { inputs: 'a' }, '/v1/conversations/conv_1'],
    ['mistral-conversations', { inputs: 'a', model: 'm', instructions: 'b' }, ''],
    ['gemini-interactions', { input: 'a', system_instruction: 'b' }, ''],
    ['gemini-interactions', { input: 'a' }, '/v1beta/interactions'],
    ['openai-threads', { assistant_id: 'asst_1', instructions: 'a' }, ''],
    ['openai-threads', { role: 'user', content: 'a' }, '/v1/threads/thread_1/messages'],
    ['cohere', user('a'), '/v2/chat'],
    ['cohere', { ...user('a'), citation_options: { mode: 'FAST' } }, ''],
    ['ollama', user('a'), '/api/chat'],
    ['ollama', { prompt: 'a', system: 'b' }, '/api/generate'],
    ['ai-sdk', { messages: [{ role: 'user', parts: [{ type: 'text', text: 'a' }] }] }, '/api/chat'],
    ['ag-ui', { ...user('a'), threadId: 't', runId: 'r' }, '/agent'],
    [
      'bedrock-converse',
      { ...user([{ text: 'a' }]), system: [{ text: 'b' }] },
      '/model/m/converse',
    ],
    ['bedrock-converse', { ...user([{ text: 'a' }]), inferenceConfig: {} }, ''],
    ['openai-images', { prompt: 'a' }, '/v1/images/generations'],
    ['openai-moderations', { input: ['a'] }, '/v1/moderations'],
    ['openai-moderations', { input: [{ type: 'text', text: 'a' }] }, '/v1/moderations'],
  ])('%s', (api, body, path) => {
    expect(requestOf(body, path).api).toBe(api)
  })
})

describe('the API that is refused, as its reply could not be read', () => {
  const refused = (body: object, path = ''): string | undefined =>
    problemOf((given) => readRequest(given, path), body) ??
    problemOfReplyTo(requestOf(body, path).json.root, path)
  test.each([
    ["OpenAI's speech API", { input: 'a', voice: 'alloy' }, ''],
    ["OpenAI's speech API", { input: 'a' }, '/v1/audio/speech'],
    ["Anthropic's old text completions", { prompt: 'a', max_tokens_to_sample: 9 }, ''],
    ["Anthropic's old text completions", { prompt: 'a' }, '/v1/complete?x'],
    ["version 1 of Cohere's API", { message: 'a', chat_history: [] }, '/v1/chat'],
    ["version 1 of Cohere's API", { prompt: 'a' }, '/v1/generate'],
    ['reranking', { model: 'm', query: 'a', documents: ['b'] }, ''],
    ['classification', { input: ['a'] }, '/classify'],
    ["llama.cpp's own completions", { prompt: 'a' }, '/completion'],
    ['tokens and templates', user('a'), '/apply-template'],
    ['fine-tuning', { training_file: 'f', suffix: 'a' }, '/v1/fine_tuning/jobs'],
    ["Ollama's API that makes models", { model: 'm', from: 'n', system: 'a' }, '/api/create'],
    ["OpenAI's videos", { prompt: 'a' }, '/v1/videos'],
    ["OpenAI's realtime API", { instructions: 'a' }, '/v1/realtime/sessions'],
    ["Gemini's cached contents", gemini({ text: 'a' }), '/v1beta/cachedContents?key=k'],
    ['batches', { requests: [{ params: user('a') }] }, '/v1/messages/batches'],
    ["prompts of Bedrock's InvokeModel", { prompt: 'a' }, '/model/meta.llama/invoke'],
    ["Bedrock's binary streams", user('a'), '/model/m/invoke-with-response-stream'],
  ])('%s', (name, body, path) => {
    expect(refused(body, path)).toContain(name)
  })

  test.each([
    ['/v1/chat/completions', user('a')],
    ['/v1/chat', user('a')],
    ['/v1/rerank/chat/completions', { ...user('a'), query: 'b', documents: ['c'] }],
    ['/v1/messages', { ...user('a'), system: 'b', message: 'c' }],
    ['/model/m/invoke', { ...user('a'), anthropic_version: 'bedrock-2023-05-31' }],
    ['/v1/completions', { prompt: 'a' }],
  ])('no other: %s', (path, body) => {
    expect(refused(body, path)).toBeUndefined()
  })
})
