// Signatures in streamed replies, which come in events of their own after the texts that they are of, and offsets.

import { describe, expect, test } from 'vitest'
import { choice } from './forms.js'
import { sendAll } from './send-all.js'

const SIGNATURE = 'EqQBCkgIARABGAIiQL3dPf9f'

const masking = (text: string): string => text.replaceAll('secret', '****')

const block = (index: number, text: string, signature = SIGNATURE): readonly object[] => [
  {
    type: 'content_block_start',
    index,
    content_block: { type: 'thinking', thinking: '', signature: '' },
  },
  { type: 'content_block_delta', index, delta: { type: 'thinking_delta', thinking: text } },
  { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature } },
  { type: 'content_block_stop', index },
]
const details = (...details: object[]): object =>
  choice({ choices: [{ index: 0, delta: { reasoning_details: details } }] })
const candidate = (...parts: object[]): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts } }],
})
const item = (text: string, signature: string): readonly object[] => [
  {
    type: 'response.reasoning_summary_text.delta',
    output_index: 0,
    summary_index: 0,
    item_id: 'rs_1',
    delta: text,
  },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: {
      id: 'rs_1',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text }],
      encrypted_content: signature,
    },
  },
]
const call = (signature: string, text: string): readonly object[] => [
  choice({
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [
            {
              index: 0,
              id: 'call_1',
              function: { name: 'f', arguments: '' },
              extra_content: { google: { thought_signature: signature } },
            },
          ],
        },
      },
    ],
  }),
  choice({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, function: { arguments: JSON.stringify({ text }) } }] },
      },
    ],
  }),
]

/** The events of one text and its signature. */
const FORMS: Readonly<Record<string, (text: string, signature?: string) => readonly object[]>> = {
  'a block of Anthropic': (text, signature) => block(0, text, signature),
  'details of OpenRouter': (text, signature = SIGNATURE) => [
    details({ type: 'reasoning.text', index: 0, text }),
    details({ type: 'reasoning.text', index: 0, signature }),
  ],
  'blocks of LiteLLM': (text, thoughts = SIGNATURE) => [
    choice({
      choices: [{ index: 0, delta: { thinking_blocks: [{ type: 'thinking', thinking: text }] } }],
    }),
    choice({
      choices: [
        {
          index: 0,
          delta: { thinking_blocks: [{ type: 'thinking', thinking: '', signature: thoughts }] },
        },
      ],
    }),
  ],
  'parts of Gemini': (text, thoughtSignature = SIGNATURE) => [
    candidate({ text, thought: true }),
    candidate({ text: '', thoughtSignature }),
  ],
  'an item of a response': (text, signature = SIGNATURE) => item(text, signature),
  'a call whose signature comes first': (text, signature = SIGNATURE) => call(signature, text),
  'a text of the AI SDK': (text, signature = SIGNATURE) => [
    { type: 'reasoning-start', id: 'a' },
    { type: 'reasoning-delta', id: 'a', delta: text },
    { type: 'reasoning-end', id: 'a', providerMetadata: { anthropic: { signature } } },
  ],
  'a message of AG-UI': (text, encryptedValue = SIGNATURE) => [
    { type: 'REASONING_MESSAGE_START', messageId: 'a', role: 'assistant' },
    { type: 'REASONING_MESSAGE_CONTENT', messageId: 'a', delta: text },
    { type: 'REASONING_MESSAGE_END', messageId: 'a' },
    { type: 'REASONING_ENCRYPTED_VALUE', subtype: 'message', entityId: 'a', encryptedValue },
  ],
  'a step of an interaction': (text, signature = SIGNATURE) => [
    {
      event_type: 'content.delta',
      index: 0,
      delta: { type: 'thought_summary', content: { type: 'text', text } },
    },
    { event_type: 'content.delta', index: 0, delta: { type: 'thought_signature', signature } },
  ],
}

const written = (events: readonly object[]): readonly string[] =>
  events.map((event) => JSON.stringify(event))
const sentBy = (events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

describe.each(Object.entries(FORMS))('%s', (_name, eventsOf) => {
  test('a text that does not change keeps its signature', async () => {
    const { sent, refused } = await sendAll(written(eventsOf('a thought')), true, masking)
    expect([sent, refused]).toEqual([sentBy(eventsOf('a thought')), []])
  })

  test('one that changes loses it', async () => {
    const { sent, refused } = await sendAll(written(eventsOf('a secret')), true, masking)
    expect([sent, refused]).toEqual([sentBy(eventsOf('a ****', '')), []])
  })

  test('with Refuse, it ends there', async () => {
    const { sent, refused } = await sendAll(written(eventsOf('a secret')), true, masking, 'Refuse')
    expect(refused).toEqual(['content_filter'])
    expect(sent).not.toContain(SIGNATURE)
  })

  test('with Refuse, a text that does not change passes', async () => {
    const { sent, refused } = await sendAll(written(eventsOf('a thought')), true, masking, 'Refuse')
    expect([sent, refused]).toEqual([sentBy(eventsOf('a thought')), []])
  })
})

test('a block keeps its signature if only another one changes', async () => {
  const { sent } = await sendAll(
    written([...block(0, 'a secret'), ...block(1, 'a thought')]),
    true,
    masking,
  )
  expect(sent).toBe(sentBy([...block(0, 'a ****', ''), ...block(1, 'a thought')]))
})

test('what begins with a signature does so without it, as its thoughts come later', async () => {
  const added = (signature: string): object => ({
    type: 'response.output_item.added',
    output_index: 0,
    item: { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: signature },
  })
  for (const mode of [undefined, 'Refuse'] as const) {
    const events = [added(SIGNATURE), ...item('a thought', SIGNATURE)]
    const { sent, refused } = await sendAll(written(events), true, masking, mode)
    expect([sent, refused]).toEqual([sentBy([added(''), ...item('a thought', SIGNATURE)]), []])
  }
})

const CITED: Readonly<
  Record<string, (text: string, from: number, to: number) => readonly object[]>
> = {
  'an annotation of a response': (delta, start, end) => [
    {
      type: 'response.output_text.delta',
      item_id: 'a',
      output_index: 0,
      content_index: 0,
      delta,
    },
    {
      type: 'response.output_text.annotation.added',
      item_id: 'a',
      output_index: 0,
      content_index: 0,
      annotation_index: 0,
      annotation: {
        type: 'url_citation',
        url: 'https://a.example/b',
        title: 'A',
        start_index: start,
        end_index: end,
      },
    },
  ],
  'annotations of a chat': (content, start, end) => [
    choice({ choices: [{ index: 0, delta: { content } }] }),
    choice({
      choices: [
        {
          index: 0,
          delta: {
            annotations: [
              {
                type: 'url_citation',
                url_citation: {
                  url: 'https://a.example/b',
                  title: 'A',
                  start_index: start,
                  end_index: end,
                },
              },
            ],
          },
        },
      ],
    }),
  ],
  'a citation of Cohere': (text, start, end) => [
    { type: 'content-delta', index: 0, delta: { message: { content: { text } } } },
    {
      type: 'citation-start',
      index: 3,
      delta: { message: { citations: { start, end, text: 'there', sources: [] } } },
    },
  ],
  'metadata of Gemini': (text, startIndex, endIndex) => [
    candidate({ text }),
    {
      candidates: [
        {
          index: 0,
          groundingMetadata: { groundingSupports: [{ segment: { startIndex, endIndex } }] },
        },
      ],
    },
  ],
}

test.each(Object.entries(CITED))('offsets: %s', async (_name, eventsOf) => {
  const same = await sendAll(written(eventsOf('Hello there', 6, 11)), true, masking)
  expect([same.sent, same.refused]).toEqual([sentBy(eventsOf('Hello there', 6, 11)), []])
  const changed = await sendAll(written(eventsOf('a secret there', 9, 14)), true, masking)
  expect([changed.sent, changed.refused]).toEqual([sentBy(eventsOf('a **** there', 0, 0)), []])
})
