// Reading an event with the help of the previous one gives the same result as reading it alone, however similar they
// are.

import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { EventReader } from '../../../src/extproc/llm/event-reader.js'
import * as streamRead from '../../../src/extproc/llm/stream-read.js'
import { atOnce } from '../../../src/kit/turns.js'
import { runs } from '../../support/runs.js'

const chunk = (content: string, more: object = {}, around: object = {}): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    ...around,
    choices: [{ index: 0, delta: { content, ...more }, finish_reason: null }],
  })

/** Texts that could be taken for the end of theirs, and members that change what an event says. */
const content = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('', ' ', 'a', '"', '\\', '\n', 'a","role":"user', '\\"', '"}', '\u2028', '😀'),
)
const more = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  fc.record({ role: fc.constantFrom('assistant', 'system', '') }),
  fc.record({ reasoning_content: content }),
  fc.record({ refusal: content }),
)
const around = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  fc.record({ obfuscation: content }),
  fc.record({ usage: fc.constantFrom(null, { total_tokens: 1 }) }),
  fc.record({ note: content }),
)
const built = fc.tuple(content, more, around).map((parts) => chunk(...parts))
/** Bytes of another event in the place of a text. */
const raw = content.map((text) => chunk('THE TEXT').replace('THE TEXT', () => text))
const finished = content.map((text) => chunk(text).replace('null', '"stop"'))
const twice = content.map((text) => chunk('x').replace('"x"', () => `"x","content":"${text}"`))
const data = fc.oneof({ weight: 4, arbitrary: built }, raw, finished, twice)

test('each event of any stream is read as it is read by itself', () => {
  fc.assert(
    fc.property(fc.array(data, { maxLength: 12 }), (stream) => {
      const reader = new EventReader()
      for (const one of stream)
        expect(atOnce(reader.read(one))).toEqual(atOnce(streamRead.readStreamEvent(one)))
    }),
    { numRuns: runs(2000) },
  )
})

test('of a stream with one text, only the first event is read whole', () => {
  const reading = vi.spyOn(streamRead, 'readStreamEvent')
  const reader = new EventReader()
  const words = ['one', ' two', ' three', ' fünf', ' and “six”']
  for (const word of words) atOnce(reader.read(chunk(word)))
  expect(reading).toHaveBeenCalledTimes(1)
  for (const word of ['', 'a "quote"', 'x'.repeat(5000)]) {
    atOnce(reader.read(chunk(word)))
    atOnce(reader.read(chunk('one')))
  }
  expect(reading.mock.calls.length).toBeGreaterThan(3)
})
