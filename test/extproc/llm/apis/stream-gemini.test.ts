// The chunks of a streamed Gemini reply.

import { describe, expect, test } from 'vitest'
import { endsIn, eventOf, eventTexts, problemOf, rewritten, shouted } from '../support.js'

const chunk = (parts: readonly object[], more: object = {}): object => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
  usageMetadata: { promptTokenCount: 4, totalTokenCount: 10 },
  modelVersion: 'gemini-3-flash',
  responseId: 'mAitaLmkHPPlz7IPvtfUqQ4',
})

describe('the texts of a chunk', () => {
  test.each([
    ['text', [{ text: 'A fo' }], ['0 text: A fo']],
    ['a thought', [{ text: 'Hm', thought: true }], ['0 thought: Hm']],
    ['no thought', [{ text: 'A', thought: false }], ['0 text: A']],
    ['a signature', [{ text: '', thoughtSignature: 'CpgF' }], ['0 text: ']],
    [
      'tool calls',
      [
        { functionCall: { name: 'mail', args: { to: 'a' } }, thoughtSignature: 'CpgF' },
        { functionCall: { id: 'x', name: 'noop' } },
      ],
      ['[tool-call] 0 call 0: {"to":"a"}'],
    ],
    [
      'a tool call that grows',
      [
        {
          functionCall: {
            partialArgs: [{ jsonPath: '$.to', stringValue: 'al' }],
            willContinue: true,
          },
        },
      ],
      ['[tool-call] 0 call 0 $.to: al'],
    ],
    [
      'code',
      [
        { executableCode: { language: 'PYTHON', code: 'print(1)' } },
        { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
      ],
      ['0 executableCode 0 code = print(1)', '0 codeExecutionResult 1 output = 1'],
    ],
    [
      'tools that the server runs',
      [
        { toolCall: { id: 'x', toolType: 'GOOGLE_SEARCH_WEB', args: { queries: ['a'] } } },
        { toolResponse: { id: 'x', toolType: 'GOOGLE_SEARCH_WEB', response: { page: 'A' } } },
      ],
      ['[tool-call] 0 toolCall 0: {"queries":["a"]}', '0 toolResponse 1 response: {"page":"A"}'],
    ],
    ['an image', [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } }], []],
    [
      'a label that is not known',
      [{ text: 'A', partMetadata: { id: 'x' } }],
      ['0 text: A', '0 part partMetadata id: x'],
    ],
  ])('%s', (_name, parts, said) => {
    expect(eventTexts(chunk(parts))).toEqual(said)
    expect(eventOf(chunk(parts)).api).toBe('gemini')
  })

  test('every candidate, with or without an index', () => {
    const candidates = [
      { index: 1, content: { parts: [{ text: 'a' }] } },
      { content: { role: 'model', parts: [{ text: 'b' }] } },
    ]
    expect(eventTexts({ candidates: [candidates[0]] })).toEqual(['1 text: a'])
    expect(eventTexts({ candidates: [candidates[1]] })).toEqual(['0 text: b'])
    expect(eventOf({ candidates }).pieces.map(({ role }) => role)).toEqual([
      'assistant',
      'assistant',
    ])
  })

  test('what a search was about', () => {
    const groundingMetadata = {
      webSearchQueries: ['foxes'],
      searchEntryPoint: { renderedContent: '<div>foxes</div>' },
      groundingChunks: [{ web: { uri: 'https://a.example', title: 'a.example' } }],
      groundingSupports: [{ segment: { endIndex: 5, text: 'A fox' }, groundingChunkIndices: [0] }],
    }
    const data = chunk([{ text: '.' }], { groundingMetadata })
    expect(eventTexts(data)).toEqual([
      '0 text: .',
      '0 groundingMetadata webSearchQueries 0 = foxes',
      '0 groundingMetadata searchEntryPoint renderedContent = <div>foxes</div>',
      '0 groundingMetadata groundingChunks 0 web title = a.example',
      '0 groundingMetadata groundingSupports 0 segment text = A fox',
    ])
  })

  test.each([
    ['usage', { usageMetadata: { promptTokenCount: 4 }, modelVersion: 'gemini-3-flash' }],
    ['a blocked prompt', { promptFeedback: { blockReason: 'SAFETY', safetyRatings: [] } }],
    ['a blocked reply', { candidates: [{ finishReason: 'SAFETY', index: 0, safetyRatings: [] }] }],
    ['nothing in a candidate', { candidates: [{ content: { role: 'model' } }] }],
  ])('nothing in %s', (_name, data) => {
    expect(eventTexts(data)).toEqual([])
    expect(eventOf(data).api).toBe('gemini')
  })

  test('an error is text, and hides none beside it', () => {
    const error = { code: 500, message: 'x', status: 'INTERNAL', said: 'B' }
    const words = ['event error message = x', 'event error said = B']
    expect(eventTexts({ error })).toEqual(words)
    expect(eventOf({ error }).api).toBe('gemini')
    expect(eventTexts({ ...chunk([{ text: 'A' }]), error })).toEqual(['0 text: A', ...words])
  })
})

describe('what a chunk ends', () => {
  test.each([
    ['its candidate, with a finishReason', chunk([], { finishReason: 'STOP' }), ['0']],
    ['thinking, when text begins', chunk([{ text: 'A' }]), ['0 thought']],
    ['no thinking that goes on', chunk([{ text: 'Hm', thought: true }, { text: '' }]), []],
    ['each tool call', chunk([{ functionCall: { name: 'f', args: {} } }]), ['0 call 0']],
  ])('%s', (_name, data, ends) => {
    expect(endsIn(data)).toEqual(ends)
  })
})

describe('changes', () => {
  test('of a text', () => {
    expect(shouted(chunk([{ text: 'fox' }]))).toEqual(chunk([{ text: 'FOX' }]))
  })

  test('of arguments are JSON', () => {
    const event = eventOf(chunk([{ functionCall: { name: 'f', args: { to: 'a@b.example' } } }]))
    expect(event.pieces).toMatchObject([
      { form: 'json', isJson: true, text: '{"to":"a@b.example"}' },
    ])
    const written = rewritten(event, { pieces: ['{"to":"***"}'], repeats: [] })
    expect(JSON.parse(written)).toEqual(
      chunk([{ functionCall: { name: 'f', args: { to: '***' } } }]),
    )
  })

  test('empty the log probabilities', () => {
    const logprobsResult = { chosenCandidates: [{ token: 'fox', logProbability: -0.1 }] }
    expect(shouted(chunk([{ text: 'fox' }], { logprobsResult }))).toEqual(
      chunk([{ text: 'FOX' }], { logprobsResult: null }),
    )
    expect(eventTexts(chunk([], { logprobsResult }))).toEqual(['0 logprobsResult: fox'])
  })
})

test.each([
  [{ ofTomorrow: { said: 'A fox' } }, '0 part ofTomorrow said:'],
  [{ function_call: { name: 'A fox' } }, '0 function_call 0 name ='],
  [{ Text: 'A fox' }, '0 part Text:'],
  [{ text: ['A fox'] }, '0 text 0 0 ='],
])('%j is not known, and read', (part, channel) => {
  expect(eventTexts(chunk([part]))).toEqual([`${channel} A fox`])
})

test.each([
  { candidates: [{ content: 'A fox' }] },
  { candidates: 'A fox' },
  { usageMetadata: {}, choices: [{ text: 'A fox' }] },
])('%j cannot be read, and the error does not quote it', (data) => {
  expect(problemOf(data)).toEqual(expect.any(String))
  expect(problemOf(data)).not.toContain('fox')
})
