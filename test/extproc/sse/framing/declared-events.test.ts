// What is declared as events: JSON is one event however its bytes are cut, and events are what they were.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DeclaredEvents } from '../../../../src/extproc/sse/framing/declared-events.js'
import { createSseReader } from '../../../../src/extproc/sse/framing/sse-frames.js'
import { atOnce } from '../../../../src/kit/turns.js'
import { runs } from '../../../support/runs.js'
import { pushed, readAll, withData } from '../../llm/support.js'

const LIMIT = 100_000
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const cuts = fc.array(fc.nat(400), { maxLength: 8 })

test('a JSON document is one event, however the bytes are cut, and no line of it is a field', () => {
  const object = fc.dictionary(fc.constantFrom('a', 'data: x', 'id'), fc.jsonValue())
  const blank = fc.constantFrom('', '\n', '\r\n\n')
  fc.assert(
    fc.property(object, fc.constantFrom(0, 1), blank, cuts, (value, space, before, at) => {
      const json = `${JSON.stringify(value, undefined, space)}\n`
      const frames = readAll(new DeclaredEvents(LIMIT), bytesOf(before + json), at)
      expect(frames.map(({ raw }) => raw).join('')).toBe(before + json)
      expect(frames.flatMap(({ data }) => data ?? [])).toEqual([json])
      expect(json.split(/[\r\n]+/)).not.toContainEqual(expect.stringMatching(/^(?:data|event|id)/))
    }),
    { numRuns: runs(200) },
  )
})

test('events are what they are without a look', () => {
  const stream = '\n: hi\n\ndata: {"a":1}\n\nevent: x\ndata: {\ndata: }\n\ndata: [DONE]\n\n'
  fc.assert(
    fc.property(cuts, (at) => {
      expect(readAll(new DeclaredEvents(LIMIT), bytesOf(stream), at)).toEqual(
        readAll(createSseReader(LIMIT), bytesOf(stream), at),
      )
    }),
    { numRuns: runs(100) },
  )
})

test('other data has its place, and what some clients take for line ends is escaped', () => {
  const [frame] = readAll(new DeclaredEvents(LIMIT), bytesOf('{\n"a": "b\u2028c"}'))
  expect(frame?.raw).toBe('{\n"a": "b\\u2028c"}')
  expect(frame && withData(frame, '{\n"a": "*"}')).toBe('{\n"a": "*"}')
})

test.each(['{\n\ndata: {"a":"secret"}\n\n', '{}\rdata: x\r\r', '{\r\ndata\r\n\r\n'])(
  'what is neither a document nor events is refused, whatever webhooks do: %j',
  (text) => {
    const reader = new DeclaredEvents(LIMIT)
    expect(pushed(reader, bytesOf(text)).ok).toBe(true)
    expect(atOnce(reader.end(() => expect.unreachable())).ok).toBe(false)
  },
)

test('a document may not be too large', () => {
  const reader = new DeclaredEvents(9)
  expect(pushed(reader, bytesOf('{"a":')).ok).toBe(true)
  expect([reader.isDocument, reader.held]).toEqual([true, 5])
  expect(pushed(reader, bytesOf('"bcde"}')).ok).toBe(false)
})
