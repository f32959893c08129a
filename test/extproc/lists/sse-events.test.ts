// The events of an MCP server's stream, received in pieces of any size.

import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  createServerEventReader,
  readEvent,
  withEventData,
} from '../../../src/extproc/lists/sse-events.js'
import { atOnce, Pace, SLICE_UNITS } from '../../../src/kit/turns.js'

const STREAM =
  ': hello\r\n\r\nevent: message\r\ndata: one\r\ndata: two\r\n\r\nid: 1\ndata: three\n\ndata: ü\r\rdata: rest'

afterEach(() => vi.restoreAllMocks())

const dataOf = (raw: Buffer): string | undefined => atOnce(readEvent(raw, new Pace()))?.data

function changed(text: string, data: string): string {
  const event = atOnce(readEvent(Buffer.from(text), new Pace()))
  if (event === undefined) throw new Error('not read')
  return atOnce(withEventData(event, data, new Pace())).toString()
}

describe('an event stream', () => {
  test.each([1, 2, 3, 5, 7, 1000])('is read alike in pieces of %i bytes', (size) => {
    const reader = createServerEventReader()
    const bytes = Buffer.from(STREAM)
    const events: Buffer[] = []
    for (let from = 0; from < bytes.length; from += size)
      for (const raw of reader.push(bytes.subarray(from, from + size)))
        events.push(Buffer.from(raw))
    const rest = reader.rest() ?? Buffer.alloc(0)

    expect(events.map(dataOf)).toEqual([undefined, 'one\ntwo', 'three', 'ü'])
    expect(dataOf(rest)).toBe('rest')
    expect(Buffer.concat([...events, rest])).toEqual(bytes)
  })

  test('costs work by its length, however many pieces an event has', () => {
    const PIECES = 512
    const piece = Buffer.alloc(1024, 'x')
    const searched = vi.spyOn(Buffer.prototype, 'toString')
    const copied = vi.spyOn(Buffer.prototype, 'copy')
    const reader = createServerEventReader()

    for (let pushed = 0; pushed < PIECES; pushed += 1) expect([...reader.push(piece)]).toEqual([])

    const read = searched.mock.results.map(({ value }) => String(value).length)
    expect(Math.max(...read)).toBeLessThan(2 * piece.length)
    expect(copied.mock.calls.length).toBeLessThan(Math.log2(PIECES) + 2)
    expect(reader.held()).toBe(PIECES * piece.length)
  })
})

describe('an event', () => {
  test.each([
    ['data\ndata:a\ndata:  b\n\n', '\na\n b'],
    ['event\ndata: a\n\n', 'a'],
    ['event: message\ndata: a\n\n', 'a'],
    ['event: other\ndata: a\n\n', 'a'],
    ['\ufeffdata: a\n\n', 'a'],
    ['Data: a\ndatas: b\n:data: c\n\n', undefined],
    ['data: a\rdata: b\r\ndata: c', 'a\nb\nc'],
  ])('%j says %j', (text, data) => {
    expect(dataOf(Buffer.from(text))).toBe(data)
  })

  test.each([
    ['id: 1\r\ndata: a\r\ndata: b\r\n\r\n', 'c', 'id: 1\r\ndata: c\r\n\r\n'],
    ['data: a\nid: 1\ndata: b\n\n', 'c\nd', 'data: c\ndata: d\nid: 1\n\n'],
    ['id: 1\rdata: a\r\r', 'c\nd', 'id: 1\rdata: c\rdata: d\r\r'],
    ['id: 1\ndata: a', 'c\nd', 'id: 1\ndata: c\ndata: d'],
  ])('%j with the data %j', (text, data, expected) => {
    expect(changed(text, data)).toBe(expected)
  })

  test('is read with a turn for others after every slice of lines', () => {
    const raw = Buffer.from('data: a\n'.repeat(40_000))
    const looked = vi.spyOn(Buffer.prototype, 'toString')
    const slices: number[] = []
    const work = readEvent(raw, new Pace())
    for (let isDone = false; !isDone;) {
      const before = looked.mock.calls.length
      isDone = work.next().done === true
      slices.push(looked.mock.calls.length - before)
    }
    expect(Math.max(...slices)).toBeLessThanOrEqual(3 * SLICE_UNITS)
    expect(slices.length).toBeGreaterThan(5)
  })

  test('of too many lines, or that is not UTF-8, is not read', () => {
    const read = (raw: Buffer) => atOnce(readEvent(raw, new Pace()))
    expect(read(Buffer.from('data: a\n'.repeat(60_000)))).toBe(undefined)
    expect(read(Buffer.from('data: \xff\n', 'latin1'))).toBe(undefined)
  })

  test.each(['{"a":1}\n\n', ': hi\n [1]\ndata: a\n\n'])(
    '%j with a line of JSON is not read',
    (text) => {
      expect(atOnce(readEvent(Buffer.from(text), new Pace()))).toBe(undefined)
    },
  )

  test.each([
    ['data: a\n\n', true],
    ['event: message\ndata: a\n\n', true],
    ['event: other\ndata: a\n\n', false],
    ['event: other\nevent: message\ndata: a\n\n', true],
  ])('%j is a message: %j', (text, isMessage) => {
    expect(atOnce(readEvent(Buffer.from(text), new Pace()))?.isMessage).toBe(isMessage)
  })
})
