// Stream events are read, held and sent in slices: neither an event as large as a body, nor the millions of events that
// a few compressed bytes can contain, block anything else.

import { describe, expect, test, vi } from 'vitest'
import { readStreamEvent } from '../../../src/extproc/llm/stream-read.js'
import type { EventFrame, EventFrameReader } from '../../../src/extproc/sse/framing/frame.js'
import { createJsonArrayReader } from '../../../src/extproc/sse/framing/json-array-frames.js'
import { createSseReader } from '../../../src/extproc/sse/framing/sse-frames.js'
import { createHeldReply } from '../../../src/extproc/sse/windows/held-reply.js'
import type * as JsonTexts from '../../../src/kit/json/json-text.js'
import { ok, type Result } from '../../../src/kit/result.js'
import { atOnce, Pace, SLICE_UNITS, type Work } from '../../../src/kit/turns.js'
import { Looks } from './looks.js'
import { eventOf, readEvent } from './support.js'

const MB = 1024 * 1024

const watching = vi.hoisted((): { looks?: Looks | undefined } => ({}))
vi.mock('../../../src/kit/json/json-text.js', async (importOriginal) => {
  const original = await importOriginal<typeof JsonTexts>()
  function* readJsonTextInTurns(text: string) {
    const json = yield* original.readJsonTextInTurns(text)
    if (json.ok) watching.looks?.watch(json.value.root)
    return json
  }
  return { ...original, readJsonTextInTurns }
})

const many = (count: number, one: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => one(index)).join(',')
const texts = (count: number): string => many(count, () => '"a b"')
const members = (count: number): string => many(count, (index) => `"k${String(index)}":"a b"`)
const candidate = (parts: string): string =>
  `{"candidates":[{"index":0,"content":{"role":"model","parts":[${parts}]}}]}`

const EVENTS = {
  'choices of chat completions': `{"choices":[${many(5_000, () => '{"index":0,"delta":{"content":"a b"}}')}]}`,
  'parts of a delta': `{"choices":[{"index":0,"delta":{"content":[${many(9_000, () => '{"type":"text","text":"a b"}')}]}}]}`,
  'tool calls': `{"choices":[{"index":0,"delta":{"tool_calls":[${many(5_000, (index) => `{"index":${String(index)},"function":{"arguments":"{}"}}`)}]}}]}`,
  'members beside the choices': `{"choices":[],"x":{${members(25_000)}}}`,
  'parts of Gemini': candidate(many(9_000, () => '{"text":"a b"}')),
  'a call of Gemini': candidate(`{"functionCall":{"name":"f","args":{${members(20_000)}}}}`),
  'blocks of Anthropic': `{"type":"message_start","message":{"role":"assistant","content":[${many(9_000, () => '{"type":"text","text":"a b"}')}]}}`,
  'output of a response': `{"type":"response.completed","response":{"output":[{"type":"message","role":"assistant","content":[${many(9_000, () => '{"type":"output_text","text":"a b"}')}]}]}}`,
  'an unknown event of a response': `{"type":"response.new.thing","x":[${texts(25_000)}]}`,
  'an error': `{"error":{"message":"m","details":[${texts(25_000)}]}}`,
}

describe('an event', () => {
  test.each(Object.entries(EVENTS))(
    '%s: other work gets a turn after every slice of values',
    (_name, data) => {
      const looks = new Looks()
      watching.looks = looks
      const event = looks.run(readStreamEvent(data))
      watching.looks = undefined
      if (!event.ok) throw new Error(event.error)
      // A value is asked what it is a few times: for its form, its name, its texts.
      expect(Math.max(...looks.slices)).toBeLessThan(8 * SLICE_UNITS)
      expect(looks.slices.length).toBeGreaterThan(4)
      const once = readEvent(data)
      if (!once.ok) throw new Error(once.error)
      expect(event.value.pieces).toEqual(once.value.pieces)
      expect(event.value.repeats).toEqual(once.value.repeats)
    },
  )

  test.each([
    ['more values than are kept', `{"choices":[],"x":[${many(60_000, () => '{}')}]}`],
    ['more values than are looked at', `{"choices":[],"x":[${texts(40_000)}]}`],
    ['more levels', `{"choices":[],"x":${'['.repeat(101)}${']'.repeat(101)}}`],
  ])('of %s is an error, as a body is', (_name, data) => {
    expect(readEvent(data)).toMatchObject({ ok: false })
  })
})

interface Read {
  readonly frames: readonly EventFrame[]
  /** Frames that were handed over between two turns. */
  readonly slices: readonly number[]
  readonly done: Result<undefined, string>
}

function readAll(reader: EventFrameReader, bytes: Uint8Array): Read {
  const frames: EventFrame[] = []
  const looks = new Looks()
  const take = function* (frame: EventFrame, pace: Pace) {
    if (pace.isDue()) yield
    frames.push(frame)
    looks.look()
    return ok(undefined)
  }
  const pushed = looks.run(reader.push(bytes, take))
  const done = pushed.ok ? looks.run(reader.end(take)) : pushed
  return { frames, slices: looks.slices, done }
}

describe('framing', () => {
  test.each([
    ['blank lines', '\n'],
    ['comments', ':\n\n'],
    ['events', 'data:{"type":"ping"}\r\n\r\n'],
  ])('%s, many in few bytes: others have a turn after every slice of them', (_name, text) => {
    const bytes = Buffer.from(text.repeat(MB / 4 / text.length))
    const { frames, slices, done } = readAll(createSseReader(MB), bytes)
    expect(done.ok).toBe(true)
    expect(frames.map(({ raw }) => raw).join('') === bytes.toString()).toBe(true)
    expect(Math.max(...slices)).toBeLessThanOrEqual(SLICE_UNITS)
    expect(slices.length).toBeGreaterThan(frames.length / SLICE_UNITS)
  })

  test('items of an array, likewise', () => {
    const bytes = Buffer.from(`[${many(60_000, () => '{}')}]`)
    const { frames, slices, done } = readAll(createJsonArrayReader(MB), bytes)
    // The last frame is the end of the array.
    expect([done.ok, frames.length]).toEqual([true, 60_001])
    expect(Math.max(...slices)).toBeLessThanOrEqual(SLICE_UNITS)
  })

  test('one line of megabytes is looked through in slices, and nothing of it is another', () => {
    const data = JSON.stringify('😀 a\u2028b\u0085'.repeat(100_000))
    const stream = Buffer.from(`: ping\r\ndata: ${data}\r\nid: 1\r\n\r\n`)
    const test = vi.spyOn(RegExp.prototype, 'test')
    const { frames, slices } = readAll(createSseReader(10 * MB), stream)
    const longest = Math.max(...test.mock.calls.map(([text]) => text.length))
    test.mockRestore()
    expect(slices.length).toBeGreaterThan(stream.length / (256 * SLICE_UNITS))
    // A piece is one unit longer where it would end within a character.
    expect(longest).toBeLessThanOrEqual(64 * 1024 + 1)
    expect(JSON.parse(frames[0]?.data ?? '') === JSON.parse(data)).toBe(true)
    expect(frames[0]?.raw).not.toMatch(/[\u2028\u0085]/)
  })

  test('an event of too many lines is an error', () => {
    const lines = Buffer.from(`data:[\n${'data:\n'.repeat(60_000)}data:]\n\n`)
    expect(readAll(createSseReader(MB), lines).done).toEqual({
      ok: false,
      error: 'an event of the stream has too many lines (line 1)',
    })
  })

  test('a frame that comes byte by byte takes up no more than twice its bytes', () => {
    const reader = createSseReader(MB)
    const sizes: number[] = []
    const set = vi.spyOn(Uint8Array.prototype, 'set')
    for (const byte of Buffer.from('data: a text of some words'))
      atOnce(reader.push(Buffer.of(byte), () => failing()))
    set.mock.contexts.forEach((buffer) => sizes.push((buffer as Uint8Array).length))
    set.mockRestore()
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * reader.held)
  })
})

function failing(): never {
  throw new Error('there is no frame yet')
}

test('the texts of an event are held and released in slices', () => {
  const data = candidate(many(9_000, () => '{"text":"a b"}'))
  const event = eventOf(data)
  const held = createHeldReply({ shows: new Set(['text']), holdBack: 256, maxSize: 10 * MB })
  const frame = {
    raw: `data: ${data}\n\n`,
    data,
    around: { before: 'data: ', after: '\n\n', between: '' },
  }
  const slices = (work: Work<void>): number => {
    const looks = new Looks()
    looks.run(work)
    return looks.slices.length
  }
  expect(slices(held.add(frame, event, new Pace()))).toBeGreaterThan(2)
  held.end()
  for (let asked = true; asked;) {
    asked = false
    for (const channel of held.channels()) {
      const window = channel.text.take()
      if (window === undefined) continue
      asked = true
      atOnce(channel.answered({ content: window.replaceAll('a', 'A') }))
    }
  }
  let left = ''
  expect(slices(held.leave((text) => (left += text)))).toBeGreaterThan(4)
  const said = [...left.matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text).join('')
  expect(said === 'A b'.repeat(9_000)).toBe(true)
})

test('frames that wait for one text leave in slices', () => {
  const held = createHeldReply({ shows: new Set(['text']), holdBack: 256, maxSize: 10 * MB })
  const data = '{"choices":[{"index":0,"delta":{"content":"a"}}]}'
  atOnce(held.add({ raw: `data: ${data}\n\n`, data }, eventOf(data), new Pace()))
  for (let count = 0; count < 10_000; count += 1)
    atOnce(held.add({ raw: ': ping\n\n' }, undefined, new Pace()))
  held.end()
  for (const channel of held.channels())
    atOnce(channel.answered({ content: channel.text.take() ?? '' }))
  const sent: string[] = []
  const looks = new Looks()
  looks.run(held.leave((text) => sent.push(text)))
  expect(looks.slices.length).toBeGreaterThan(2)
  expect(sent.join('')).toBe(`data: ${data}\n\n${': ping\n\n'.repeat(10_000)}`)
  expect(held.frames).toBe(0)
})
