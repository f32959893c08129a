// What inspectTools and inspectFiles add to the pieces of events in streamed replies, and how changes are written back.

import { expect, test } from 'vitest'
import { readStreamEvent } from '../../../src/extproc/llm/stream-read.js'
import { rewriteEvent, type StreamEvent } from '../../../src/extproc/llm/text/stream-event.js'
import { atOnce } from '../../../src/kit/turns.js'

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const file = (text: string): string => `data:text/plain;base64,${base64(text)}`

function eventOf(data: object, inspects = { tools: true, files: true }): StreamEvent {
  const read = atOnce(readStreamEvent(JSON.stringify(data), { inspects, isOneChoice: false }))
  if (!read.ok) throw new Error(read.error)
  return read.value
}

const found = (event: StreamEvent): readonly string[] =>
  [...event.pieces, ...event.repeats]
    .filter(({ kind }) => kind === 'file' || kind === 'definition')
    .map(({ kind, role, text }) => `${kind} ${role}: ${text}`)

const tool = (about: string): object => ({
  name: 'fetch',
  description: about,
  input_schema: { type: 'object' },
})
const listed = { id: 'm', type: 'mcp_list_tools', server_label: 's', tools: [tool('a secret')] }
const document = {
  type: 'document',
  source: { type: 'base64', media_type: 'text/plain', data: base64('a secret') },
}

const CASES: readonly (readonly [string, object, string])[] = [
  [
    'tools of an item of OpenAI',
    { type: 'response.output_item.done', output_index: 0, item: listed },
    'definition tool_definition: a secret',
  ],
  [
    'tools of the whole response of OpenAI',
    { type: 'response.completed', response: { id: 'r', output: [listed] } },
    'definition tool_definition: a secret',
  ],
  [
    'tools that a response of OpenAI repeats',
    { type: 'response.created', response: { id: 'r', output: [], tools: [tool('a secret')] } },
    'definition tool_definition: a secret',
  ],
  [
    'a file of an item of OpenAI',
    {
      type: 'response.output_item.done',
      output_index: 0,
      item: { type: 'code_interpreter_call', outputs: [{ image_url: file('a secret') }] },
    },
    'file assistant: a secret',
  ],
  [
    'a file of a chat of OpenAI',
    {
      object: 'chat.completion.chunk',
      choices: [
        {
          index: 0,
          delta: { content: [{ type: 'image_url', image_url: { url: file('a secret') } }] },
        },
      ],
    },
    'file assistant: a secret',
  ],
  [
    'a document of a block of Anthropic',
    {
      type: 'content_block_start',
      index: 0,
      content_block: {
        type: 'web_fetch_tool_result',
        tool_use_id: 't',
        content: { type: 'web_fetch_result', url: 'https://a.example', content: document },
      },
    },
    'file assistant: a secret',
  ],
  [
    'a part of Gemini',
    {
      candidates: [
        {
          index: 0,
          content: { parts: [{ inlineData: { mimeType: 'text/csv', data: base64('a secret') } }] },
        },
      ],
    },
    'file assistant: a secret',
  ],
]

test.each(CASES)('%s: shown, at once, and a change is written back', (_, data, shown) => {
  const event = eventOf(data)
  expect(found(event)).toEqual([shown])
  const masked = event.pieces.map(({ text }) => text.replace('secret', '****'))
  const repeats = event.repeats.map(({ text }) => text.replace('secret', '****'))
  const wanted = JSON.stringify(data)
    .replaceAll('secret', '****')
    .replaceAll(base64('a secret'), base64('a ****'))
  expect(atOnce(rewriteEvent(event, { pieces: masked, repeats }))).toBe(wanted)
  const own = event.pieces.find(({ kind }) => kind === 'file' || kind === 'definition')
  const isEnded = (channel: string): boolean =>
    event.ends.some((end) => end === '' || channel === end || channel.startsWith(`${end} `))
  if (own !== undefined) expect(isEnded(own.channel)).toBe(true)
})

test.each(CASES)('%s: not shown unless the webhook asks for it', (_, data) => {
  expect(found(eventOf(data, { tools: false, files: false }))).toEqual([])
})

test('each text of a definition is one by itself, more than eight are shown as their JSON', () => {
  const of = (count: number): object => ({
    type: 'response.output_item.done',
    output_index: 0,
    item: { ...listed, tools: Array.from({ length: count }, (_, at) => tool(`about ${at}`)) },
  })
  const eight = eventOf(of(8)).pieces
  expect(eight.map(({ text }) => text)).toEqual(Array.from({ length: 8 }, (_, at) => `about ${at}`))
  expect(new Set(eight.map(({ channel }) => channel)).size).toBe(8)
  const [all, ...others] = eventOf(of(9)).pieces
  expect(others).toEqual([])
  expect(all).toMatchObject({ kind: 'definition', form: 'json', role: 'tool_definition' })
  expect(JSON.parse(all?.text ?? '')).toHaveLength(9)
  const around = {
    type: 'response.created',
    response: { id: 'r', output: [], tools: (of(9) as { item: { tools: object } }).item.tools },
  }
  expect(eventOf(around).repeats).toMatchObject([{ kind: 'definition', form: 'json' }])
})

test('sound and images are no text, wherever they are', () => {
  const sound = Buffer.from([0, 1, 2, 255]).toString('base64')
  const delta = { type: 'response.audio.delta', output_index: 0, delta: sound }
  expect(found(eventOf(delta))).toEqual([])
})
