// Lines of JSON from bytes: the same however the bytes are cut, nothing lost, and only the data changed.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createJsonLineReader } from '../../../../src/extproc/sse/framing/json-line-frames.js'
import { runs } from '../../../support/runs.js'
import { pushed, readAll, withData } from '../../llm/support.js'

const LIMIT = 100_000
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('lines of JSON', () => {
  const lines = '{"a":"é"}\n\n {"b":1}\r\n\n{"c":2}'

  test('are the same however the bytes are cut, and nothing is lost', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(lines.length)), (cuts) => {
        const frames = readAll(createJsonLineReader(LIMIT), bytesOf(lines), cuts)
        expect(frames.map(({ raw }) => raw).join('')).toBe(lines)
        const data = frames.flatMap((frame) => frame.data ?? [])
        expect(data).toEqual(['{"a":"é"}', ' {"b":1}', '{"c":2}'])
      }),
      { numRuns: runs(200) },
    )
  })

  test('get other data in their place', () => {
    const [frame] = readAll(createJsonLineReader(LIMIT), bytesOf('{"a":1}\r\n'))
    expect(frame && withData(frame, '{"a":"\u2028"}')).toBe('{"a":"\\u2028"}\r\n')
  })

  test('what some clients take for line ends is escaped within strings, and refused elsewhere', () => {
    const [frame] = readAll(createJsonLineReader(LIMIT), bytesOf('{"a":"b\u2028c\x85"}\n'))
    expect(frame?.raw).toBe('{"a":"b\\u2028c\\u0085"}\n')
    for (const mark of ['\r', '\0', '\x1c', '\f'])
      expect(pushed(createJsonLineReader(LIMIT), bytesOf(`{"a":1,${mark}"b":2}\n`)).ok).toBe(false)
  })

  test('a line may not be too large', () => {
    const reader = createJsonLineReader(9)
    expect(pushed(reader, bytesOf('{"a":')).ok).toBe(true)
    expect(reader.held).toBe(5)
    expect(pushed(reader, bytesOf('"bcde"}\n')).ok).toBe(false)
  })
})
