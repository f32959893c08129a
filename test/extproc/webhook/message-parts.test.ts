// Entries of a message with several texts name the message, and which of its texts they are.

import { expect, test } from 'vitest'
import type { Conversation } from '../../../src/extproc/llm/text/conversation.js'
import { compileWebhook } from '../../../src/extproc/webhook/compiled-guard.js'
import { webhookRequest } from '../../../src/extproc/webhook/webhook-request.js'
import { atOnce } from '../../../src/kit/turns.js'
import { replyOf, requestOf } from '../llm/bodies.js'
import { webhook } from '../support/guards.js'

/** The entries of a question, each as content, number of the message, index and number of the parts. */
function asked(phase: 'request' | 'response', { entries }: Conversation): unknown[] {
  const shown = entries.map((entry) => ({ ...entry, isJson: false, isWritable: true }))
  const request = webhookRequest(compileWebhook(webhook(1)), phase, shown, {})
  const { body } = 'next' in request ? atOnce(request) : request
  const { messages, choices } = (
    JSON.parse(Buffer.from(body).toString()) as {
      body: { messages?: Shown[]; choices?: { message: Shown }[] }
    }
  ).body
  return (messages ?? (choices ?? []).map(({ message }) => message)).map(
    ({ content, message, part }) =>
      message === undefined ? [content] : [content, message, part?.index, part?.of],
  )
}

interface Shown {
  readonly content: string
  readonly message?: number
  readonly part?: { readonly index: number; readonly of: number }
}

const text = (said: string): object => ({ type: 'text', text: said })

test.each([
  [
    'messages of a chat',
    {
      messages: [
        { role: 'system', content: 'a' },
        { role: 'user', content: [text('b'), text('c')] },
        { role: 'assistant', content: 'd', name: 'e' },
      ],
    },
    [['a'], ['b', 1, 0, 2], ['c', 1, 1, 2], ['d', 2, 0, 2], ['e', 2, 1, 2]],
  ],
  [
    'system blocks of Anthropic',
    {
      system: [text('a'), text('b')],
      max_tokens: 1,
      messages: [{ role: 'user', content: [text('c'), text('d')] }],
    },
    [
      ['a', 0, 0, 2],
      ['b', 0, 1, 2],
      ['c', 1, 0, 2],
      ['d', 1, 1, 2],
    ],
  ],
  [
    'the prompt and the suffix of a completion',
    { prompt: 'a', suffix: 'b' },
    [
      ['a', 0, 0, 2],
      ['b', 0, 1, 2],
    ],
  ],
  ['a prompt alone', { prompt: 'a' }, [['a']]],
  [
    'parts of Gemini',
    { contents: [{ role: 'user', parts: [{ text: 'a' }, { text: 'b' }] }] },
    [
      ['a', 0, 0, 2],
      ['b', 0, 1, 2],
    ],
  ],
  [
    'items of a response',
    {
      input: [
        { role: 'user', content: 'a' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'b' },
            { type: 'input_text', text: 'c' },
          ],
        },
      ],
    },
    [['a'], ['b', 1, 0, 2], ['c', 1, 1, 2]],
  ],
])('a request: %s', (_name, body, entries) => {
  expect(asked('request', requestOf({ model: 'm', ...body }))).toEqual(entries)
})

test.each([
  [
    'choices',
    {
      object: 'chat.completion',
      choices: [
        { message: { role: 'assistant', content: 'a' } },
        { message: { role: 'assistant', content: 'b', reasoning_content: 'c' } },
      ],
    },
    [['a'], ['b', 1, 0, 2], ['c', 1, 1, 2]],
  ],
  [
    'blocks of Anthropic',
    { type: 'message', role: 'assistant', content: [text('a'), text('b')] },
    [
      ['a', 0, 0, 2],
      ['b', 0, 1, 2],
    ],
  ],
])('a reply: %s', (_name, body, entries) => {
  expect(asked('response', replyOf(body))).toEqual(entries)
})

test('a long body has the same members', () => {
  const long = 'word '.repeat(8_000)
  const body = { model: 'm', messages: [{ role: 'user', content: [text(long), text('b')] }] }
  expect(asked('request', requestOf(body))).toEqual([
    [long, 0, 0, 2],
    ['b', 0, 1, 2],
  ])
})
