// Calls of tools that a reply streams: another id, or another name without one, begins another call, whatever the index.

import { describe, expect, test } from 'vitest'
import { choice } from './forms.js'
import { sendAll } from './send-all.js'

const PARIS = '{"city":"Paris"}'
const ROME = '{"city":"mail bob@example.org"}'
const MASKED = '{"city":"mail [email]"}'

const masking = (text: string): string => text.replaceAll('bob@example.org', '[email]')

const chat = (call: object): object =>
  choice({ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] } }] })
const old = (call: object): object =>
  choice({ choices: [{ index: 0, delta: { function_call: call } }] })

/** The events of two calls that a server gives one index: the beginning of each, and two parts of its arguments. */
type Calls = (begun: 'a' | 'b', first: string, second: string) => readonly object[]

const FORMS: Readonly<Record<string, Calls>> = {
  'an id with the beginning': (id, first, second) => [
    chat({ id, type: 'function', function: { name: 'weather', arguments: '' } }),
    chat({ function: { arguments: first } }),
    chat({ function: { arguments: second } }),
  ],
  'an id with each part': (id, first, second) => [
    chat({ id, function: { name: 'weather', arguments: first } }),
    chat({ id, function: { name: 'weather', arguments: second } }),
  ],
  'an id that is a number': (id, first, second) => [
    chat({ id: id === 'a' ? 1 : 2, function: { arguments: first } }),
    chat({ id: id === 'a' ? 1 : 2, function: { arguments: second } }),
  ],
  'a name alone': (name, first, second) => [
    chat({ id: '', function: { name, arguments: first } }),
    chat({ id: null, function: { name: '', arguments: second } }),
  ],
  'the name of a function call': (name, first, second) => [
    old({ name, arguments: first }),
    old({ arguments: second }),
  ],
  'a block of Anthropic': (id, first, second) => [
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id, name: 'weather', input: {} },
    },
    ...[first, second].map((partial_json) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    })),
  ],
  'an item of a response': (id, first, second) => [
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { id, type: 'function_call', call_id: id, name: 'weather', arguments: '' },
    },
    ...[first, second].map((delta) => ({
      type: 'response.function_call_arguments.delta',
      item_id: id,
      output_index: 0,
      delta,
    })),
  ],
  'a call of Cohere': (id, first, second) => [
    {
      type: 'tool-call-start',
      index: 0,
      delta: { message: { tool_calls: { id, function: { name: 'weather', arguments: first } } } },
    },
    {
      type: 'tool-call-delta',
      index: 0,
      delta: { message: { tool_calls: { function: { arguments: second } } } },
    },
  ],
  'a call of a conversation': (id, first, second) =>
    [first, second].map((said) => ({
      type: 'function.call.delta',
      tool_call_id: id,
      name: 'weather',
      output_index: 0,
      arguments: said,
    })),
  'chunks of AG-UI': (toolCallId, first, second) => [
    { type: 'TOOL_CALL_CHUNK', toolCallId, delta: first },
    { type: 'TOOL_CALL_CHUNK', delta: second },
  ],
}

const eventsOf = (calls: Calls, cut = 9): readonly string[] =>
  [
    ...calls('a', PARIS.slice(0, cut), PARIS.slice(cut)),
    ...calls('b', ROME.slice(0, cut), ROME.slice(cut)),
  ].map((event) => JSON.stringify(event))

describe.each(Object.entries(FORMS))('two calls at one index: %s', (_name, calls) => {
  test('each is shown as a whole, and masked by itself', async () => {
    const { sent, shown, refused } = await sendAll(eventsOf(calls), true, masking)
    expect([shown, refused]).toEqual([[PARIS, ROME], []])
    expect(sent).not.toContain('bob')
    expect(sent).toContain(JSON.stringify(MASKED).slice(1, -1))
  })

  test('arguments that go on in the next call are seen together', async () => {
    const events = [...calls('a', '{"city":', '"sword'), ...calls('b', 'fi', 'sh"}')]
    const { sent, shown, refused } = await sendAll(
      events.map((event) => JSON.stringify(event)),
      true,
      (text) => text.replaceAll('swordfi', '****'),
    )
    expect(shown.some((text) => text.includes('swordfi'))).toBe(true)
    expect(refused).toEqual(['guardrail_unreadable'])
    expect(sent).not.toContain('fi')
  })
})

test('an id and a name that come one after the other are of one call', async () => {
  const events = [
    chat({ function: { name: 'weather', arguments: '' } }),
    chat({ id: 'a', function: { arguments: ROME.slice(0, 9) } }),
    chat({ id: 'a', function: { name: 'weather', arguments: ROME.slice(9) } }),
  ].map((event) => JSON.stringify(event))
  const { shown } = await sendAll(events, true, masking)
  expect(shown).toEqual([ROME])
})

test('the input of a block that nothing ends is not that of the block after it', async () => {
  const block = (index: number, id: string, input: string): readonly object[] => [
    { type: 'content_block_start', index, content_block: { type: 'tool_use', id, input: {} } },
    {
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: input },
    },
  ]
  const events = [...block(0, 'a', PARIS), ...block(1, 'b', ROME)]
  const { shown } = await sendAll(
    events.map((event) => JSON.stringify(event)),
    true,
    masking,
  )
  expect(shown).toEqual([PARIS, ROME])
})
