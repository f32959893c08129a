// The events of an MCP server's stream, as they come in pieces of any size.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { createServerEventReader } from '../../../src/extproc/lists/sse-events.js'

const STREAM =
  ': hello\r\n\r\nevent: message\r\ndata: one\r\ndata: two\r\n\r\nid: 1\ndata: three\n\ndata: ü\r\rdata: rest'

afterEach(() => vi.restoreAllMocks())

describe('an event stream', () => {
  test.each([1, 2, 3, 5, 7, 1000])('is read alike in pieces of %i bytes', (size) => {
    const reader = createServerEventReader()
    const bytes = Buffer.from(STREAM)
    const events = []
    for (let from = 0; from < bytes.length; from += size)
      events.push(...reader.push(bytes.subarray(from, from + size)))
    const rest = reader.rest()

    expect(events.map(({ data }) => data)).toEqual(['', 'one\ntwo', 'three', 'ü'])
    expect(rest?.data).toBe('rest')
    expect(Buffer.concat([...events.map(({ raw }) => raw), rest?.raw ?? Buffer.alloc(0)])).toEqual(
      bytes,
    )
  })

  test('costs work by its length, however many pieces an event has', () => {
    const PIECES = 512
    const piece = Buffer.alloc(1024, 'x')
    const searched = vi.spyOn(Buffer.prototype, 'toString')
    const copied = vi.spyOn(Buffer.prototype, 'copy')
    const reader = createServerEventReader()

    for (let pushed = 0; pushed < PIECES; pushed += 1) expect(reader.push(piece)).toEqual([])

    const read = searched.mock.results.map(({ value }) => String(value).length)
    expect(Math.max(...read)).toBeLessThan(2 * piece.length)
    expect(copied.mock.calls.length).toBeLessThan(Math.log2(PIECES) + 2)
    expect(reader.held).toBe(PIECES * piece.length)
  })
})
