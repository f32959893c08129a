// Ids of server-sent events: clients of MCP send them back as they are, and nobody needs those of an LLM's streams.

import { describe, expect, test } from 'vitest'
import { createSseReader, type EventIds } from '../../../../src/extproc/sse/framing/sse-frames.js'
import { pushed, readAll } from '../../llm/support.js'

const LIMIT = 100_000
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

const passed = (text: string, ids?: EventIds): string =>
  readAll(createSseReader(LIMIT, ids), bytesOf(text))
    .map(({ raw }) => raw)
    .join('')

describe('an id', () => {
  test.each([
    ['without a letter, as the Rust SDK writes it', '0/1'],
    ['beyond ASCII', 'é 你好 👍'],
    ['of 256 characters', '👍'.repeat(256)],
    ['that is JSON', '{"a":"b"}'],
    ['that could be the number of a card', '4111-1111-1111-1111'],
    ['that is an address of mail', 'bob@example.com'],
    ['with a blank in front', '  a'],
  ])('%s is kept where clients send it back, and dropped elsewhere', (_name, id) => {
    const event = `id: ${id}\ndata: 1\n\n`
    expect(passed(event, 'kept')).toBe(event)
    expect(passed(event)).toBe(':\ndata: 1\n\n')
  })

  test.each(['id', 'id:', 'id: ', 'id:7', 'id: c9b1e2d0-77aa-4c6b_0='])(
    '%j passes everywhere',
    (line) => {
      const event = `data: 1\r\n${line}\r\n\r\n`
      expect([passed(event, 'kept'), passed(event)]).toEqual([event, event])
    },
  )

  test.each([
    ['with a line end of some clients', 'a\u2028data: 2'],
    ['with a control character', 'a\0'],
    ['of 257 characters', 'x'.repeat(257)],
    ['that shows its characters in another order', 'a\u202eb'],
  ])('%s is an error where clients send it back, and dropped elsewhere', (_name, id) => {
    const event = `:\nid: ${id}\n\n`
    expect(pushed(createSseReader(LIMIT, 'kept'), bytesOf(event))).toEqual({
      ok: false,
      error: 'a line of the stream is not of an event (line 2: id)',
    })
    expect(passed(event)).toBe(':\n:\n\n')
  })
})

test('an event that is too large or is not UTF-8 is an error that names its line', () => {
  const read = (...parts: readonly (string | Uint8Array)[]): unknown =>
    pushed(createSseReader(16), Buffer.concat(parts.map((part) => Buffer.from(part))))
  const error = 'an event of the stream is too large (line 4)'
  const large = `data: ${'x'.repeat(20)}`
  expect(read(':\n\n\n', `${large}\n\n`)).toEqual({ ok: false, error })
  expect(read(':\n\n\n', large)).toEqual({ ok: false, error })
  expect(read('data: 1\n\ndata: ', Buffer.of(0xff), '\n\n')).toEqual({
    ok: false,
    error: 'an event of the stream is not UTF-8 (line 3)',
  })
})
