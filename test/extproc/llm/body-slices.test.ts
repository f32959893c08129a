// Bodies are processed in slices: reading tens of thousands of values, or megabytes, blocks nothing else.

import { describe, expect, test, vi } from 'vitest'
import { readMarked } from '../../../src/extproc/llm/apis/replies.js'
import { readMembers } from '../../../src/extproc/llm/apis/requests.js'
import { type Entry, rewrite } from '../../../src/extproc/llm/text/conversation.js'
import { sourceOf } from '../../../src/extproc/llm/text/found-text.js'
import { readJson } from '../../../src/kit/json/json-text.js'
import { asObject } from '../../../src/kit/json/members.js'
import { quoted } from '../../../src/kit/json/print-json.js'
import { inTurns, Pace, PIECE, SLICE_UNITS, type Work } from '../../../src/kit/turns.js'
import { Looks } from './looks.js'

const many = (count: number, one: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => one(index)).join(',')
const texts = (count: number): string => many(count, (index) => `"text ${String(index)}"`)
const members = (count: number): string => many(count, (index) => `"k${String(index)}":"a b"`)
const chat = (more: string): string => `{"messages":[{"role":"user","content":"a"}],${more}}`
const deep = `${'['.repeat(90)}"a b"${']'.repeat(90)}`

const REQUESTS = {
  'strings of one list': chat(`"x":[${texts(25_000)}]`),
  members: chat(`"x":{${members(25_000)}}`),
  'small objects': chat(`"x":[${many(12_000, () => '{"a":"b c"}')}]`),
  'deep lists': chat(`"x":[${many(300, () => deep)}]`),
  'a tool call': `{"messages":[{"role":"assistant","tool_calls":[{"type":"function","function":{"arguments":{${members(40_000)}}}}]}]}`,
  definitions: chat(`"tools":[${texts(40_000)}]`),
  tokens: chat(`"x":{"text":"a b","tokens":[${texts(20_000)}]}`),
  messages: `{"messages":[${many(9_000, () => '{"role":"user","content":"a b"}')}]}`,
}

describe('a request', () => {
  test.each(Object.entries(REQUESTS))(
    '%s: other work gets a turn after every slice of values',
    (_name, text) => {
      const json = readJson(new TextEncoder().encode(text))
      if (!json.ok) throw new Error(json.error)
      const looks = new Looks()
      looks.watch(json.value.root)
      const body = asObject(json.value.root, 'the body')
      const entries = looks.run(readMembers(body, 'messages', sourceOf(text)))
      expect(entries.length).toBeGreaterThan(0)
      // A value is asked what it is a few times: for its form, its name, its texts.
      expect(Math.max(...looks.slices)).toBeLessThan(8 * SLICE_UNITS)
      expect(looks.slices.length).toBeGreaterThan(4)
    },
  )
})

test('choices of a reply: other work gets a turn after every slice of values', () => {
  const text = `{"choices":[${many(9_000, () => '{"message":{"role":"assistant","content":"a b"}}')}]}`
  const json = readJson(new TextEncoder().encode(text))
  if (!json.ok) throw new Error(json.error)
  const looks = new Looks()
  looks.watch(json.value.root)
  looks.run(readMarked('choices', asObject(json.value.root, 'the body'), sourceOf(text)))
  expect(looks.slices.length).toBeGreaterThan(4)
})

/** How long the pieces are that are made into JSON between two turns. */
function piecesOf<T>(work: Work<T>): { made: T; slices: number[] } {
  const slices: number[] = []
  const stringify = vi.spyOn(JSON, 'stringify')
  try {
    for (;;) {
      const from = stringify.mock.calls.length
      const step = work.next()
      const pieces = stringify.mock.calls.slice(from)
      slices.push(pieces.reduce((sum, [piece]) => sum + (piece as string).length, 0))
      if (step.done === true) return { made: step.value, slices }
    }
  } finally {
    stringify.mockRestore()
  }
}

test('a string of megabytes is written in slices, and no character of it is parted', () => {
  const text = `a${'😀"\\\n\u0001'.repeat(1_000_000)}\ud83d`
  const { made, slices } = piecesOf(quoted(text, new Pace()))
  expect(made === JSON.stringify(text)).toBe(true)
  expect(Math.max(...slices)).toBeLessThan(256 * SLICE_UNITS + PIECE)
  expect(slices.length).toBeGreaterThan(4)
})

test('changes are written in slices', () => {
  const text = `[${many(20_000, () => '"a"')}]`
  const json = readJson(new TextEncoder().encode(text))
  if (!json.ok || json.value.root.type !== 'array') throw new Error('not read')
  const entries = json.value.root.items.map((place): Entry => ({
    kind: 'text',
    role: 'user',
    content: 'a',
    place,
  }))
  const changes = entries.map(() => 'b')
  const { made, slices } = piecesOf(
    rewrite({ api: 'openai-chat', json: json.value, entries }, changes),
  )
  expect(made).toBe(text.replaceAll('a', 'b'))
  expect(Math.max(...slices)).toBeLessThanOrEqual(SLICE_UNITS)
})

test('abandoned work ends with its slice', async () => {
  const leaving = new AbortController()
  let slices = 0
  function* work(): Work<string> {
    for (; slices < 10; slices += 1) yield
    return 'done'
  }
  const done = inTurns(work(), leaving.signal)
  leaving.abort()
  expect(await done).toBe(undefined)
  expect(slices).toBe(0)
  expect(await inTurns(work())).toBe('done')
})
