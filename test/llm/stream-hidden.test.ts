// A text anywhere in an event, known or not, is read or makes the event unreadable; it never passes by itself.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readStreamEvent } from '../../src/llm/stream-read.js'

const MARK = 'a fox that nobody expects'

const EVENTS: readonly object[] = [
  {
    object: 'chat.completion.chunk',
    choices: [
      {
        index: 0,
        delta: {
          role: 'assistant',
          content: [{ type: 'text', text: 'a' }],
          reasoning: 'b',
          tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }],
        },
        message: { role: 'assistant', content: 'a' },
        finish_reason: 'stop',
      },
    ],
    usage: { details: {} },
    error: { message: 'x' },
  },
  { object: 'text_completion', choices: [{ text: 'a', index: 0 }] },
  { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'a' },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: { type: 'message', content: [{ type: 'output_text', text: 'a', more: {} }] },
  },
  {
    type: 'response.completed',
    response: {
      output: [
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'a' }] },
        { type: 'mcp_call', arguments: '{}', output: 'x' },
      ],
      usage: {},
    },
  },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', more: {} } },
  { type: 'message_start', message: { role: 'assistant', content: [], usage: {} } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: {} },
  { type: 'error', error: { type: 'overloaded_error', message: 'x' } },
  {
    candidates: [
      {
        index: 0,
        content: {
          role: 'model',
          parts: [{ text: 'a' }, { functionCall: { name: 'f', args: {} } }],
        },
        groundingMetadata: { groundingSupports: [{ segment: { text: 'a' } }] },
      },
    ],
    usageMetadata: {},
  },
  { error: { code: 500, message: 'x', status: 'INTERNAL' } },
]

/** Every object below a value. */
const objectsIn = (value: unknown): Record<string, unknown>[] => {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap(objectsIn)
  return Array.isArray(value) ? inner : [value as Record<string, unknown>, ...inner]
}

const name = fc.constantFrom(
  'text',
  'content',
  'Text',
  'reasoning',
  'refusal',
  'summary',
  'thinking',
)
const put = fc.oneof(
  fc.constant<unknown>(MARK),
  fc.constant<unknown>([{ type: 'text', text: MARK }]),
  fc.constant<unknown>({ said: { text: MARK } }),
)

test('no text passes unread', () => {
  fc.assert(
    fc.property(fc.constantFrom(...EVENTS), fc.nat(), name, put, (event, at, member, value) => {
      const data = structuredClone(event)
      const objects = objectsIn(data)
      const place = objects[at % objects.length] ?? {}
      // A response says here how the request wanted its text.
      fc.pre(!('output' in place && ['text', 'reasoning'].includes(member)))
      place[member] = value
      const read = readStreamEvent(JSON.stringify(data))
      if (!read.ok) {
        expect(read.error).not.toContain('fox')
        return
      }
      const said = [...read.value.pieces, ...read.value.repeats]
      expect(said.filter(({ text }) => text.includes(MARK))).toHaveLength(1)
      const starts = said.map(({ place }) => place.start)
      expect(new Set(starts).size).toBe(starts.length)
    }),
    { numRuns: 3_000 },
  )
})
