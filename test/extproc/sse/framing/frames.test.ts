// Parses the events of a stream from bytes: the same events however the bytes are cut, nothing lost, and only the data
// changed.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type EventFrame,
  piecesWithData,
  withoutLineEnds,
} from '../../../../src/extproc/sse/framing/frame.js'
import { createJsonArrayReader } from '../../../../src/extproc/sse/framing/json-array-frames.js'
import { createSseReader } from '../../../../src/extproc/sse/framing/sse-frames.js'
import { atOnce, inTurns, Pace, PIECE } from '../../../../src/kit/turns.js'
import { countTurns } from '../../../support/count-turns.js'
import { runs } from '../../../support/runs.js'
import { readBySplitlines } from '../../../support/splitlines-client.js'
import { ended, pushed, readAll, withData } from '../../llm/support.js'

const LIMIT = 100_000

/** A short text without the line ends that only some clients know. */
function escaped(json: string): string {
  const text = withoutLineEnds(json, new Pace())
  return typeof text === 'string' ? text : atOnce(text)
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The frames that leave before the stream is found to be none. */
function readUpToError(stream: string, cuts: readonly number[]): readonly EventFrame[] {
  const bytes = bytesOf(stream)
  const reader = createSseReader(LIMIT)
  const frames: EventFrame[] = []
  let from = 0
  for (const to of [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort(
    (a, b) => a - b,
  )) {
    if (!pushed(reader, bytes.subarray(from, to), frames).ok) return frames
    from = to
  }
  const last = ended(reader)
  return last.ok ? [...frames, ...last.value] : frames
}

/** Where Python's splitlines() splits and the standard does not. */
const OTHER_ENDS = ['\v', '\f', '\x1c', '\x1d', '\x1e', '\x85', '\u2028', '\u2029']

const sse = (text: string, cuts?: readonly number[]): EventFrame[] =>
  readAll(createSseReader(LIMIT), bytesOf(text), cuts)

const array = (text: string, cuts?: readonly number[]): EventFrame[] =>
  readAll(createJsonArrayReader(LIMIT), bytesOf(text), cuts)

const dataOf = (frames: readonly EventFrame[]): string[] => frames.flatMap(({ data }) => data ?? [])
const rawOf = (frames: readonly EventFrame[]): string => frames.map(({ raw }) => raw).join('')

const cuts = fc.array(fc.nat(), { maxLength: 20 })

describe('server-sent events', () => {
  test.each([
    ['LF', 'data: {"a":1}\n\ndata: [DONE]\n\n', ['{"a":1}', '[DONE]']],
    ['CRLF', 'data: 1\r\n\r\ndata: 2\r\n\r\n', ['1', '2']],
    ['CR', 'data: 1\r\rdata: 2\r\r', ['1', '2']],
    ['mixed line ends', 'data: 1\r\n\ndata: 2\n\r\ndata: 3\r\r\n', ['1', '2', '3']],
    ['a byte order mark', '\ufeffdata: 1\n\n', ['1']],
    ['comments', ': ping - 2026-01-02 10:11:12.5+00:00\n\n:\n\ndata: 1\n: ping\n\n', ['1']],
    ['several lines of data', 'data: {\ndata: "a":1\ndata:}\n\n', ['{\n"a":1\n}']],
    ['only the first space dropped', 'data:  1\n\ndata:2\n\n', [' 1', '2']],
    ['other fields', 'id: 7\nretry: 10\nevent: message_stop\ndata: 1\n\n', ['1']],
    ['no data', 'event: ping\n\ndata:\n\ndata\n\n', []],
    ['no blank line at the end', 'data: 1\n\ndata: 2', ['1', '2']],
    ['blank lines', '\n\n\r\n\rdata: 1\n\n\n\n', ['1']],
    ['text beyond ASCII', 'data: "🦊é"\n\n', ['"🦊é"']],
  ])('%s', (_name, text, data) => {
    expect(dataOf(sse(text))).toEqual(data)
    expect(rawOf(sse(text))).toBe(text)
  })

  test('an event is there as soon as its blank line is', () => {
    const reader = createSseReader(LIMIT)
    expect(pushed(reader, bytesOf('data: 1\r\n\r\ndata'))).toMatchObject({
      value: [{ raw: 'data: 1\r\n\r\n' }],
    })
    expect(pushed(reader, bytesOf(': 2\n\n'))).toMatchObject({ value: [{ data: '2' }] })
  })

  test('the same events however the bytes are cut, and all that came', () => {
    const line = fc.constantFrom(
      'data: a',
      'data:é🦊',
      'data',
      'event: x',
      ': ping',
      'id: 1',
      '',
      '',
      '',
    )
    const end = fc.constantFrom('\n', '\r\n', '\r')
    const text = fc
      .tuple(fc.constantFrom('', '\ufeff'), fc.array(fc.tuple(line, end), { maxLength: 30 }))
      .map(([mark, lines]) => mark + lines.flat().join(''))
    fc.assert(
      fc.property(text, cuts, (stream, at) => {
        const frames = sse(stream, at)
        expect(rawOf(frames)).toBe(stream)
        expect(frames).toEqual(sse(stream))
      }),
      { numRuns: runs(1_000) },
    )
  })

  test('other data leaves the other lines as they were', () => {
    const [frame] = sse('\ufeffid: 1\r\ndata:old\r\n: ping\r\ndata:er\r\nevent: e\r\n\r\n')
    if (frame === undefined) throw new Error('no frame')
    expect(withData(frame, 'new\ntext')).toBe(
      '\ufeffid: 1\r\ndata: new\r\ndata: text\r\n: ping\r\nevent: e\r\n\r\n',
    )
    expect(withData(frame, 'old\ner')).toBe(frame.raw)
  })

  test('other data in a last event without a line end', () => {
    const [frame] = sse('data: a')
    expect(frame && withData(frame, 'b\nc')).toBe('data: b\ndata: c')
  })

  test('what is written is read as what was to be written', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('data: a\n\n', ': ping\rdata:a\r\r', 'data: a\r\ndata: b\r\nid: 1\r\n\r\n'),
        fc.json(),
        (stream, data) => {
          const [frame] = sse(stream)
          expect(frame && dataOf(sse(withData(frame, data)))).toEqual([escaped(data)])
        },
      ),
    )
  })

  test.each([
    ['JSON without a field', '{"choices":[]}\n\n', 'line 1'],
    ['a field in other letters', 'Data: 1\n\n', 'line 1'],
    ['a space before a field', ' data: 1\n\n', 'line 1'],
    ['a byte order mark within', 'data: 1\n\n\ufeffdata: 2\n\n', 'line 3'],
    ['a name of an event that is a text', 'event: some words\ndata: 1\n\n', 'line 1: event'],
    [
      'a name of an event that could be the number of a card',
      'event: 4111111111111111\n\n',
      'line 1: event',
    ],
    [
      'a name of an event that is an address',
      'event: https://a.example/?q=secret\n\n',
      'line 1: event',
    ],
    ['a time that is none', 'retry: words\n\n', 'line 1: retry'],
    ['a time that could be the number of a card', 'retry: 4111111111111111\n\n', 'line 1: retry'],
    ['NUL in data', 'data: "\0"\n\n', 'line 1: data'],
    ['a vertical tab in data', 'data: 1\vdata: 2\n\n', 'line 1: data'],
    ['a line separator in a name', 'event: x\u2028data: 2\n\n', 'line 1: event'],
    ['a line of a later event', 'data: 1\n\n:\r\n\rdata: 2\nwords\n\n', 'line 6'],
  ])('%s is an error that names the line and does not quote it', (_name, text, line) => {
    expect(pushed(createSseReader(LIMIT), bytesOf(text))).toEqual({
      ok: false,
      error: `a line of the stream is not of an event (${line})`,
    })
  })

  test.each([
    [': some words', ':'],
    [': x\u2028data: 2', ':'],
    [':data: 1\x85\x85', ':'],
    [`: ${'x'.repeat(10_000)}`, ':'],
    [':ping', ':ping'],
    [': ', ': '],
    [': OPENROUTER PROCESSING', ': OPENROUTER PROCESSING'],
    [': ping 4111-1111-1111-1111', ':'],
    [': 4111 1111 1111 1111', ':'],
    [':+49.30.1234567890', ':'],
    [': keep-alive 12', ': keep-alive 12'],
    [': keepalive 1764159088', ': keepalive 1764159088'],
    [': ping - 2026-01-02T10:11:12.123456Z', ': ping - 2026-01-02T10:11:12.123456Z'],
    ['id: 1764159088123-0', 'id: 1764159088123-0'],
    ['id: c9b1e2d0-77aa-4c6b_0=', 'id: c9b1e2d0-77aa-4c6b_0='],
    ['event: response.output_text.delta', 'event: response.output_text.delta'],
    ['data: "a\u2028\u2029\x85b"', 'data: "a\\u2028\\u2029\\u0085b"'],
  ])('of %j leaves %j', (line, passed) => {
    expect(rawOf(sse(`${line}\r\ndata: 1\r\n\r\n`))).toBe(`${passed}\r\ndata: 1\r\n\r\n`)
  })

  test('a client that splits lines in the way of Python reads the events that were read here, and no text beside them', () => {
    const end = fc.constantFrom('\n', '\n', '\r\n', '\r', ...OTHER_ENDS)
    const part = fc.oneof(
      fc.constantFrom(
        'data: {"a":1}',
        'data:"b"',
        'data',
        'event: x',
        'id: 1',
        'retry: 5',
        ':',
        '',
      ),
      fc.constantFrom(
        'data: "',
        '"',
        ': words',
        'event: words of',
        ':data: 2',
        'Data: 3',
        '\ufeff',
      ),
      fc.string({ maxLength: 4 }),
    )
    const text = fc
      .array(fc.tuple(part, end), { maxLength: 12 })
      .map((parts) => parts.flat().join(''))
    fc.assert(
      fc.property(text, cuts, (stream, at) => {
        const read = readUpToError(stream, at)
        const events = readBySplitlines(rawOf(read))
        expect(events.map(({ data }) => data).filter((data) => data.trim() !== '')).toEqual(
          dataOf(read),
        )
        for (const { event, id } of events) expect([event, id].join('')).toMatch(/^[\x21-\x7e]*$/)
      }),
      { numRuns: runs(3_000) },
    )
  })

  test('bytes that are not UTF-8 are an error', () => {
    const bytes = new Uint8Array([...bytesOf('data: '), 0xc3, 0x28, 0x0a, 0x0a])
    expect(pushed(createSseReader(LIMIT), bytes)).toMatchObject({ ok: false })
    const half = createSseReader(LIMIT)
    pushed(half, bytes.subarray(0, 7))
    expect(ended(half)).toMatchObject({ ok: false })
  })

  test('the size of an event is limited, in any pieces', () => {
    const reader = createSseReader(16)
    for (const text of ['data: 1234567\n\n', 'data: 89', '0\n\n', 'data: ééé\n\n'])
      expect(pushed(reader, bytesOf(text))).toMatchObject({ ok: true })
    expect(pushed(reader, bytesOf('data: ééééé\n\n'))).toMatchObject({ ok: false })
    const slow = createSseReader(16)
    for (const byte of bytesOf(':'.repeat(16)))
      expect(pushed(slow, new Uint8Array([byte]))).toMatchObject({ ok: true })
    expect(pushed(slow, bytesOf(':'))).toMatchObject({ ok: false })
  })

  test('bytes whose buffer is used again are kept', () => {
    const reader = createSseReader(LIMIT)
    const buffer = Buffer.from('data: 1')
    pushed(reader, buffer)
    buffer.fill(0x78)
    expect(pushed(reader, bytesOf('\n\n'))).toMatchObject({ value: [{ data: '1' }] })
  })
})

describe('a JSON array', () => {
  const GEMINI = '[{\n  "candidates": [{"a": "[\\"}{"}]\n}\n,\r\n{"b":2},{}]\n'

  test('its items are events', () => {
    const frames = array(GEMINI)
    expect(dataOf(frames)).toEqual(['{\n  "candidates": [{"a": "[\\"}{"}]\n}', '{"b":2}', '{}'])
    expect(rawOf(frames)).toBe(GEMINI)
  })

  test('an item is there as soon as it is closed', () => {
    const reader = createJsonArrayReader(LIMIT)
    expect(pushed(reader, bytesOf('[{"a":{}}'))).toMatchObject({ value: [{ data: '{"a":{}}' }] })
  })

  test('the same items however the bytes are cut, and all that came', () => {
    const space = fc.constantFrom('', ' ', '\r\n', '\n\n')
    const items = fc.array(fc.tuple(fc.dictionary(fc.string(), fc.jsonValue()), space, space))
    fc.assert(
      fc.property(space, items, space, cuts, (first, values, last, at) => {
        const texts = values.map(([value]) => JSON.stringify(value))
        const parts = texts.map((text, index) => values[index]?.[1] + text + values[index]?.[2])
        const stream = `${first}[${parts.join(',')}]${last}`
        const frames = array(stream, at)
        expect(rawOf(frames)).toBe(stream)
        expect(dataOf(frames)).toEqual(texts)
        expect(frames).toEqual(array(stream))
      }),
      { numRuns: runs(500) },
    )
  })

  test('other data leaves what is around it as it was', () => {
    const frames = array(GEMINI)
    const written = frames.map((frame) => withData(frame, '{\n"c":3}')).join('')
    expect(written).toBe('[{\n"c":3}\n,\r\n{\n"c":3},{\n"c":3}]\n')
  })

  test.each([
    '{"a":1}',
    '[1]',
    '["a"]',
    '[[]]',
    '[{}{}]',
    '[{},]',
    '[{}]x',
    '[,{}]',
    'x',
    '\ufeff[]',
  ])('%s is not one of objects', (text) => {
    expect(pushed(createJsonArrayReader(LIMIT), bytesOf(text))).toEqual({
      ok: false,
      error: 'the stream is not a JSON array of objects',
    })
  })

  test('one that ends within an item is an error, one that ends after an item is not', () => {
    const reader = createJsonArrayReader(LIMIT)
    expect(pushed(reader, bytesOf('[{}'))).toMatchObject({ ok: true })
    expect(ended(reader)).toEqual({ ok: true, value: [] })
    expect(pushed(reader, bytesOf(',{"a":"'))).toMatchObject({ ok: true })
    expect(ended(reader)).toMatchObject({ ok: false })
  })

  test('an item that is too large is an error', () => {
    expect(pushed(createJsonArrayReader(16), bytesOf('[{"a":"12345678"}'))).toMatchObject({
      ok: false,
    })
  })
})

describe('data of megabytes that is nothing but line ends', () => {
  const PIECES = 32

  test.each([
    ['lines', '\n', 'data: x\ndata: y\n\n'],
    ['line ends of some clients', '\u2028', 'data: x\n\n'],
  ])('%s: each piece of it is written in a turn of its own', async (_name, character, event) => {
    const data = character.repeat(PIECES * PIECE)
    const [frame] = readAll(createSseReader(LIMIT), bytesOf(event))
    if (frame === undefined) throw new Error('no frame')
    const { result, turns } = await countTurns(() =>
      inTurns(piecesWithData(frame, data, new Pace())),
    )
    const by = character === '\n' ? '\ndata: ' : String.raw`\u2028`
    expect(result?.join('') === `data: ${by.repeat(PIECES * PIECE)}\n\n`).toBe(true)
    expect(turns).toBeGreaterThanOrEqual(PIECES - 1)
  })

  test('what some clients take for line ends is read in such turns too', async () => {
    const line = bytesOf(`data: "${'\u2028'.repeat(PIECES * PIECE)}"\n\n`)
    const frames: EventFrame[] = []
    const { turns } = await countTurns(() =>
      inTurns(
        createSseReader(2 * line.length).push(line, function* (frame) {
          frames.push(frame)
          return { ok: true, value: undefined }
        }),
      ),
    )
    expect(frames).toHaveLength(1)
    expect(frames[0]?.data?.length).toBe(6 * PIECES * PIECE + 2)
    expect(turns).toBeGreaterThanOrEqual(PIECES - 1)
  })
})
