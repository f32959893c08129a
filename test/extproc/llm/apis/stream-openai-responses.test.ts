// The events of a streamed response, end to end: each text arrives as deltas and is then repeated whole.

import { describe, expect, test } from 'vitest'
import { endedBy } from '../../../../src/extproc/llm/text/stream-event.js'
import { endsIn, eventOf, eventTexts, problemOf, shouted } from '../support.js'

const place = { item_id: 'msg_67c9', output_index: 1, sequence_number: 9 }
const inPart = { ...place, content_index: 0 }

const part = (text: string, more: object = {}): object => ({
  type: 'output_text',
  annotations: [],
  logprobs: [],
  text,
  ...more,
})

const message = (text: string): object => ({
  id: 'msg_67c9',
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [part(text), { type: 'refusal', refusal: 'No.' }],
})

const reasoning = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'I think.' }],
  content: [{ type: 'reasoning_text', text: 'Hm.' }],
  encrypted_content: 'gAAAAABn',
}

const response = (status: string, output: readonly object[], more: object = {}): object => ({
  id: 'resp_67c9',
  object: 'response',
  created_at: 1741290958,
  status,
  error: null,
  incomplete_details: null,
  instructions: 'You are a helpful assistant.',
  model: 'gpt-5.4',
  output,
  parallel_tool_calls: true,
  reasoning: { effort: 'high', summary: 'detailed' },
  text: { format: { type: 'text' } },
  tools: [{ type: 'function', name: 'f', description: 'text', parameters: { type: 'object' } }],
  tool_choice: 'auto',
  usage: null,
  metadata: { summary: 'of the request' },
  ...more,
})

describe('deltas and what follows them', () => {
  test.each([
    ['text', 'output_text', 'text', '1 content 0'],
    ['a refusal', 'refusal', 'refusal', '1 content 0'],
    ['reasoning', 'reasoning_text', 'text', '1 content 0'],
    ['a summary', 'reasoning_summary_text', 'text', '1 summary 2'],
    ['code', 'code_interpreter_call_code', 'code', '1 code'],
    ['speech', 'audio.transcript', 'transcript', '1 transcript'],
  ])('%s', (_name, stem, whole, channel) => {
    const data = { ...inPart, summary_index: 2, obfuscation: 'x9', logprobs: [] }
    const delta = { ...data, type: `response.${stem}.delta`, delta: 'A fo' }
    const done = { ...data, type: `response.${stem}.done`, [whole]: 'A fox' }
    expect(eventTexts(delta)).toEqual([`${channel}: A fo`])
    expect(endsIn(delta)).toEqual([])
    expect(eventTexts(done)).toEqual([`${channel} = A fox`])
    expect(endsIn(done)).toEqual([channel])
    expect(eventOf(delta).api).toBe('openai-responses')
  })

  test.each([
    ['function_call_arguments', 'arguments', '1 arguments', true],
    ['mcp_call_arguments', 'arguments', '1 arguments', true],
    ['custom_tool_call_input', 'input', '1 input', undefined],
  ])('a tool call: %s', (stem, whole, channel, isJson) => {
    const delta = { ...place, type: `response.${stem}.delta`, delta: '{"a"' }
    const done = { ...place, type: `response.${stem}.done`, [whole]: '{"a":1}', name: 'f' }
    expect(eventTexts(delta)).toEqual([`[tool-call] ${channel}: {"a"`])
    expect(eventTexts(done)).toEqual([`[tool-call] ${channel} = {"a":1}`])
    expect(eventOf(delta).pieces[0]?.isJson).toBe(isJson)
    expect(eventOf(done).repeats[0]?.isJson).toBe(isJson)
  })

  test('log probabilities go when their text changes', () => {
    const logprobs = [{ token: 'fox', logprob: -0.1, bytes: [102], top_logprobs: [] }]
    const delta = { ...inPart, type: 'response.output_text.delta', delta: 'fox', logprobs }
    expect(shouted(delta)).toEqual({ ...delta, delta: 'FOX', logprobs: null })
    const same = { ...delta, delta: '!', logprobs: [{ token: '!', logprob: -0.1 }] }
    expect(shouted(same)).toEqual(same)
  })
})

describe('parts and items', () => {
  test('begin', () => {
    const added = { ...inPart, type: 'response.content_part.added', part: part('A') }
    expect(eventTexts(added)).toEqual(['1 content 0: A'])
    expect(endsIn(added)).toEqual([])
    const item = { ...place, type: 'response.output_item.added', item: message('A') }
    expect(eventTexts(item)).toEqual(['1 content 0: A', '1 content 1: No.'])
    expect(endedBy(endsIn(item))('1 content 0')).toBe(false)
  })

  test('are repeated at their end', () => {
    const logprobs = [{ token: 'A fox.', logprob: 0, bytes: [] }]
    const done = {
      ...inPart,
      type: 'response.content_part.done',
      part: part('A fox.', { logprobs }),
    }
    expect(eventTexts(done)).toEqual(['1 content 0 = A fox.'])
    expect(endsIn(done)).toEqual(['1 content 0'])
    expect(shouted(done)).toEqual({ ...done, part: part('A FOX.', { logprobs: null }) })
    const summary = {
      ...place,
      type: 'response.reasoning_summary_part.done',
      summary_index: 1,
      part: { type: 'summary_text', text: 'I think.' },
    }
    expect(eventTexts(summary)).toEqual(['1 summary 1 = I think.'])
    const item = { ...place, type: 'response.output_item.done', item: reasoning }
    expect(eventTexts(item)).toEqual(['1 summary 0 = I think.', '1 content 0 = Hm.'])
    expect(endedBy(endsIn(item))('1 summary 0')).toBe(true)
    expect(endedBy(endsIn(item))('10 summary 0')).toBe(false)
  })

  test.each([
    [
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' },
      ['[tool-call] 1 arguments = {"a":1}'],
    ],
    [{ type: 'custom_tool_call', name: 'f', input: 'SELECT' }, ['[tool-call] 1 input = SELECT']],
    [
      { type: 'tool_search_call', arguments: { goal: 'x' } },
      ['[tool-call] 1 arguments = {"goal":"x"}'],
    ],
    [
      {
        type: 'mcp_call',
        server_label: 's',
        name: 'f',
        arguments: '{}',
        output: 'found',
        error: null,
      },
      ['[tool-call] 1 arguments = {}', '1 output = found'],
    ],
    [
      { type: 'code_interpreter_call', code: '1', outputs: [{ type: 'logs', logs: 'one' }] },
      ['1 code = 1', '1 outputs 0 logs = one'],
    ],
    [
      { type: 'web_search_call', action: { type: 'search', query: 'foxes', queries: ['foxes'] } },
      ['[tool-call] 1 action: {"type":"search","query":"foxes","queries":["foxes"]}'],
    ],
    [
      { type: 'file_search_call', queries: ['foxes'], results: [{ filename: 'f', text: 'A fox' }] },
      ['1 queries 0 = foxes', '1 results 0 filename = f', '1 results 0 text = A fox'],
    ],
    [
      { type: 'image_generation_call', result: 'iVBORw0K', revised_prompt: 'A fox' },
      ['1 revised_prompt = A fox'],
    ],
    [
      { type: 'shell_call_output', output: [{ stdout: 'out', stderr: 'err' }] },
      ['1 output 0 stdout = out', '1 output 0 stderr = err'],
    ],
    [
      { type: 'apply_patch_call', operation: { type: 'update_file', path: 'a', diff: '+a' } },
      ['[tool-call] 1 operation: {"type":"update_file","path":"a","diff":"+a"}'],
    ],
    [{ type: 'mcp_list_tools', tools: [{ name: 'f', description: 'text' }] }, []],
    [{ type: 'compaction', encrypted_content: 'gAAA' }, []],
    [{ type: 'of_tomorrow', status: 'done' }, []],
  ])('%o', (item, said) => {
    const done = { ...place, type: 'response.output_item.done', item: { id: 'i', ...item } }
    expect(eventTexts(done)).toEqual(said)
  })

  test('arguments that are an object are written as JSON', () => {
    const item = { type: 'tool_search_call', arguments: { goal: 'x' } }
    const event = eventOf({ ...place, type: 'response.output_item.done', item })
    expect(event.repeats[0]).toMatchObject({ form: 'json', isJson: true })
  })
})

/** Members of a response that repeat its request. */
const REQUEST = [
  'response instructions = You are a helpful assistant.',
  'response metadata summary = of the request',
]

describe('the response', () => {
  test.each(['created', 'queued', 'in_progress'])('%s repeats the request', (step) => {
    const data = { type: `response.${step}`, response: response(step, []), sequence_number: 0 }
    expect(eventTexts(data)).toEqual(REQUEST)
    expect(endsIn(data)).toEqual([])
  })

  test.each(['completed', 'incomplete', 'failed'])('%s says all of it again', (step) => {
    const output = [
      reasoning,
      message('A fox.'),
      { type: 'mcp_call', arguments: '{}', output: 'x' },
    ]
    const data = { type: `response.${step}`, response: response(step, output), sequence_number: 9 }
    expect(eventTexts(data)).toEqual([
      ...REQUEST.slice(0, 1),
      '0 summary 0 = I think.',
      '0 content 0 = Hm.',
      '1 content 0 = A fox.',
      '1 content 1 = No.',
      '[tool-call] 2 arguments = {}',
      '2 output = x',
      ...REQUEST.slice(1),
    ])
    expect(endsIn(data)).toContain('')
  })

  test('a failure is text, also where it quotes the model', () => {
    const error = {
      code: 'server_error',
      message: 'The server had an error.',
      generation: 'A bear',
    }
    const data = { type: 'response.failed', response: response('failed', [], { error }) }
    expect(eventTexts(data)).toEqual([
      'response error message = The server had an error.',
      'response error generation = A bear',
      ...REQUEST,
    ])
  })

  test('what has texts at many places beside its output is shown as JSON', () => {
    const words = Array.from({ length: 9 }, (_, at) => [`x_${'abcdefghi'[at]}`, `A fox ${at}`])
    const schema = { anyOf: [{ default: Object.fromEntries(words) as object }] }
    const more = { text: { format: { type: 'json_schema', schema } } }
    const data = { type: 'response.created', response: response('x', [], more) }
    expect(eventTexts(data)).toContain(`response text = ${JSON.stringify(more.text)}`)
    expect(eventTexts(data)).toHaveLength(REQUEST.length + 1)
  })

  test('its text in one member is a text of its own', () => {
    const data = { type: 'response.completed', response: response('x', [], { output_text: 'A' }) }
    expect(eventTexts(data)).toEqual([...REQUEST, 'response output_text = A'])
  })
})

test.each([
  [
    { ...place, type: 'response.of_tomorrow.delta', delta: 'A fox' },
    '1 response.of_tomorrow delta:',
  ],
  [
    { ...place, type: 'response.output_item.done', item: { type: 'of_tomorrow', said: 'A fox' } },
    '1 said =',
  ],
  [
    { ...inPart, type: 'response.content_part.done', part: { type: 'of_tomorrow', said: 'A fox' } },
    '1 content 0 said =',
  ],
])('%j is not known, and read', (data, said) => {
  expect(eventTexts(data)).toEqual([`${said} A fox`])
})

describe('other events', () => {
  test.each([
    { ...place, type: 'response.web_search_call.searching' },
    { ...place, type: 'response.file_search_call.completed' },
    { ...place, type: 'response.code_interpreter_call.interpreting' },
    { ...place, type: 'response.mcp_list_tools.in_progress' },
    { ...place, type: 'response.image_generation_call.partial_image', partial_image_b64: 'iVBO' },
    { type: 'response.audio.delta', delta: 'UklGRg==', sequence_number: 1 },
    { type: 'response.audio.done', sequence_number: 1 },
    { type: 'keepalive', sequence_number: 3 },
    { ...place, type: 'response.of_tomorrow.in_progress' },
  ])('$type holds no text', (data) => {
    expect(eventTexts(data)).toEqual([])
    expect(eventOf(data).api).toBe('openai-responses')
  })

  test('what an annotation quotes is text by itself', () => {
    const data = {
      ...inPart,
      type: 'response.output_text.annotation.added',
      annotation: { type: 'file_citation', filename: 'a.txt', quote: 'A fox' },
    }
    expect(eventTexts(data)).toEqual([
      '1 content 0 annotation filename = a.txt',
      '1 content 0 annotation quote = A fox',
    ])
  })

  test.each([
    { type: 'response.created', response: 'A fox' },
    { ...place, type: 'response.output_text.delta', delta: { text: 'A fox' } },
  ])('%o cannot be read, and the error does not quote it', (data) => {
    expect(problemOf(data)).toEqual(expect.any(String))
    expect(problemOf(data)).not.toContain('fox')
  })

  test('a text where none belongs is read all the same', () => {
    const data = { ...place, type: 'response.output_text.done', text: 'A', item: { content: 'B' } }
    expect(eventTexts({ ...data, notes: { text: 'C' } })).toEqual([
      '1 content 0 = A',
      'event item content = B',
      'event notes text = C',
    ])
  })
})
