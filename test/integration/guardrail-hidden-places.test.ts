// Places outside the prompt that some servers read, and places outside the reply where some repeat it, through the
// whole product: masks apply there too.

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  answerJson,
  asked,
  chat,
  completion,
  type GuardedStack,
  startGuardedStack,
} from '../support/guardrails.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack()
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const TEXT = 'It is a secret that I may tell.'
const TOKENS = TEXT.match(/\s?\S+/g) ?? []
const logprobs = (...tokens: readonly string[]) => ({
  content: tokens.map((token) => ({ token, logprob: -0.1, bytes: [...Buffer.from(token)] })),
})

describe('beside the prompt', () => {
  test.each([
    ['documents', { documents: [{ title: 'a secret', text: 'of a secret' }] }],
    ['what fills the template', { chat_template_kwargs: { model_identity: 'a secret' } }],
    ['how to sum up', { context_management: { edits: [{ instructions: 'a secret' }] } }],
    ['the message of another API', { messages: [], message: 'a secret' }],
    ['an instruction', { instruction: 'a secret' }],
    ['a guideline', { guideline: 'a secret' }],
    ['what a tool is told', { tool_prompt: 'a secret' }],
    ['what a search is told', { plugins: [{ id: 'web', search_prompt: 'a secret' }] }],
    [
      'what a data source is told',
      { data_sources: [{ type: 'x', parameters: { role_information: 'a secret' } }] },
    ],
    ['who asks', { user: 'a secret', metadata: { note: 'a secret' } }],
    ['a model that is none', { models: ['x', 'a secret'] }],
  ])('%s', async (_name, more) => {
    expect((await stack.post('/both', chat('hi', more))).status).toBe(200)
    const [request] = stack.llm.requests
    expect(request?.body).toBe(chat('hi', more).replaceAll('secret', '****'))
  })
})

describe('beside what tells the form', () => {
  test.each([
    ['inputs', { instructions: 'hi', inputs: 'a secret' }],
    [
      'a thread',
      { instructions: 'hi', thread: { messages: [{ role: 'user', content: 'a secret' }] } },
    ],
    [
      'more messages',
      { instructions: 'hi', additional_messages: [{ role: 'user', content: 'a secret' }] },
    ],
    ['more instructions', { input: 'hi', additional_instructions: 'a secret' }],
    ['a negative prompt', { prompt: 'hi', negative_prompt: 'a secret' }],
    ['variables', { prompt: { id: 'p', variables: { x: { type: 'new', words: 'a secret' } } } }],
    ['another system prompt', { contents: [], system_prompt: { text: ['a secret'] } }],
    ['what is embedded', { input: ['hi'], instruction: 'a secret' }],
    ['odd names', { input: 'hi', more: { 'a secret': 1 } }],
  ])('%s', async (_name, body) => {
    const json = JSON.stringify(body)
    expect((await stack.post('/both', json)).status).toBe(200)
    expect(stack.llm.requests[0]?.body).toBe(json.replaceAll('secret', '****'))
  })
})

describe('what nobody can read, wherever it is', () => {
  test.each([
    ['tokens below a member of some gateways', { extra_body: { prompt_token_ids: [1, 2, 3] } }],
    ['vectors below it', { extra_body: { prompt_embeds: 'AAAA' } }],
    ['tokens in a message', { messages: [{ role: 'user', content: 'hi', input_ids: [1, 2] }] }],
  ])('%s: 400, and the LLM gets nothing', async (_name, more) => {
    expect((await stack.post('/both', chat('hi', more))).status).toBe(400)
    expect(stack.llm.requests).toEqual([])
  })
})

describe('beside the reply', () => {
  test('llama.cpp, verbose; log probabilities and tokens go with the text', async () => {
    const { choices, ...rest } = completion(TEXT)
    const choice = { ...choices[0], logprobs: logprobs(...TOKENS), token_ids: [1, 2] }
    const verbose = { content: TEXT, tokens: [1, 2] }
    stack.llm.answer(answerJson({ ...rest, choices: [choice], __verbose: verbose }))
    const answer = await stack.post('/both', chat('hi', { verbose: true }))
    expect(answer.status).toBe(200)
    expect(answer.body).not.toContain('secret')
    expect(JSON.parse(answer.body)).toMatchObject({
      choices: [{ message: { content: TEXT.replace('secret', '****') }, token_ids: null }],
      __verbose: { content: TEXT.replace('secret', '****'), tokens: null },
    })
  })

  test.each<[string, readonly object[]]>([
    [
      'a chunk',
      [
        { choices: [{ index: 0, delta: { content: 'hi', plan: 'a sec' } }] },
        { choices: [{ index: 0, delta: { plan: 'ret', note: { of: 'a secret' } } }] },
        { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], more: 'a secret' },
      ],
    ],
    [
      'an event of a message',
      [
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'new', words: 'a secret' },
        },
        { type: 'content_block_delta', index: 0, delta: { type: 'new_delta', words: 'a sec' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'new_delta', words: 'ret' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'of_tomorrow', words: ['a secret'] },
      ],
    ],
    [
      'an event of a response',
      [
        { type: 'response.created', response: { output: [], instructions: 'a secret' } },
        { type: 'response.new.delta', output_index: 0, delta: 'a sec' },
        { type: 'response.new.delta', output_index: 0, delta: 'ret' },
        {
          type: 'response.output_item.done',
          output_index: 0,
          item: { type: 'new', by: 'a secret' },
        },
        { type: 'response.completed', response: { output: [], instructions: 'a secret' } },
      ],
    ],
    [
      'a chunk of Gemini',
      [
        { candidates: [{ index: 0, content: { parts: [{ words: 'a sec' }] } }] },
        {
          candidates: [{ index: 0, content: { parts: [{ words: 'ret' }] }, finishReason: 'STOP' }],
        },
        { usageMetadata: { note: 'a secret' } },
      ],
    ],
  ])('%s of a stream', async (_name, events) => {
    const stream = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    stack.llm.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream)
    })
    const answer = await stack.post('/both', chat('hi', { stream: true }))
    expect(answer.status).toBe(200)
    expect(answer.body).not.toMatch(/sec|ret"/)
    expect(answer.body.match(/\*\*\*\*/g)).toHaveLength(stream.match(/secret|sec"/g)?.length ?? 0)
    expect(answer.body.match(/^data: /gm)).toHaveLength(events.length)
  })

  test('what every chunk of a stream repeats is asked about once', async () => {
    const [note, more] = ['a note in each chunk', 'a secret in each chunk']
    const chunk = { choices: [{ index: 0, delta: { content: 'hi ' }, at: note }], more }
    const stream = `data: ${JSON.stringify(chunk)}\n\n`.repeat(20)
    stack.llm.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream)
    })
    const answer = await stack.post('/both', chat('hi', { stream: true }))
    expect(answer.body).toBe(stream.replaceAll('secret', '****'))
    const shown = asked(stack.webhook).flatMap(({ choices = [] }) => choices)
    const contents = shown.map(({ message }) => message.content)
    expect(contents.sort()).toEqual([note, more, 'hi '.repeat(20)])
  })

  test('log probabilities of a stream that are ahead of its text', async () => {
    stack.llm.answer((_request, response) => answerAhead(response))
    const answer = await stack.post('/both', chat('hi', { stream: true, logprobs: true }))
    expect(answer.status).toBe(200)
    expect(answer.body).toContain('[DONE]')
    expect(answer.body).toContain('****')
    expect(answer.body).not.toContain('secret')
    expect(answer.body).not.toContain(String([...Buffer.from('secret')]))
  })
})

/** Answers like vLLM with a stop sequence: the text is one token behind. */
function answerAhead(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const event = (choice: object): void =>
    void response.write(`data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`)
  TOKENS.forEach((token, at) => {
    event({ delta: { content: TOKENS[at - 1] ?? '' }, logprobs: logprobs(token) })
  })
  event({ delta: { content: TOKENS.at(-1) }, finish_reason: 'stop' })
  response.end('data: [DONE]\n\n')
}
