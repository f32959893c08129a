// The JSON reader agrees with JSON.parse on validity and values, and edits change nothing else.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonNode } from '../../../src/kit/json/json-node.js'
import { JsonReader } from '../../../src/kit/json/json-reader.js'
import {
  applyEdits as applyEditsInSlices,
  type Edit,
  readJson,
  readJsonInTurns,
  SLICE,
} from '../../../src/kit/json/json-text.js'
import { MAX_NAME, MAX_VALUES } from '../../../src/kit/json/keeps.js'
import { plainJson } from '../../../src/kit/json/print-json.js'
import { atOnce, nextTurn, Pace, type Work } from '../../../src/kit/turns.js'
import { parsedAsPairs } from '../../support/parsed-as-pairs.js'
import { runs } from '../../support/runs.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

function valueOf(node: JsonNode, text: string): unknown {
  switch (node.type) {
    case 'object':
      return Object.fromEntries(
        [...node.members].map(([name, value]) => [name, valueOf(value, text)]),
      )
    case 'array':
      return node.isCut
        ? (JSON.parse(atOnce(plainJson(node, text))) as unknown)
        : node.items.map((item) => valueOf(item, text))
    case 'string':
      return node.value
    default:
      return JSON.parse(text.slice(node.start, node.end)) as unknown
  }
}

/** Reads in slices, with a pause between them. */
async function readJsonInSlices(
  text: Uint8Array,
  pause = nextTurn,
): Promise<ReturnType<typeof readJson>> {
  const work = readJsonInTurns(text)
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await pause()
  }
}

function stringsOf(node: JsonNode): JsonNode[] {
  if (node.type === 'object') return [...node.members.values()].flatMap(stringsOf)
  if (node.type === 'array') return node.items.flatMap(stringsOf)
  return node.type === 'string' ? [node] : []
}

/** A number with more digits than readJson() takes. */
const LONG_NUMBER = /[eE][+-]?\d{20}|\d{512}/

describe('readJson', () => {
  test('agrees with JSON.parse, wherever there is space', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5 }),
        fc.constantFrom(0, 1, '\t', '\r\n '),
        (value, space) => {
          const text = JSON.stringify(value, null, space).replaceAll('\\r\\n', '\\r\\n')
          const read = readJson(bytes(text))
          if (!read.ok) throw new Error(read.error)
          expect(valueOf(read.value.root, text)).toEqual(parsedAsPairs(text))
        },
      ),
    )
  })

  test.each([
    '0',
    '-0',
    '10',
    '-7',
    '01',
    '-',
    '-01',
    '00',
    '1.',
    '1.5',
    '.5',
    '1.5.5',
    '+1',
    '0x1',
    '1e3',
    '1E+3',
    '1e',
    '1e-',
    '0e0',
    '9'.repeat(15),
    '9'.repeat(16),
    '9'.repeat(20),
    '1a',
    '1 2',
    'null',
    'nul',
    'nulll',
    'true',
    'tru',
    'truefalse',
    'false',
    'fals',
    'NaN',
  ])('takes %s where JSON.parse does', (scalar) => {
    for (const text of [scalar, `[${scalar}]`, `{"a":${scalar},"b":[${scalar} ]}`]) {
      const read = readJson(bytes(text))
      expect(read.ok, text).toBe(!throws(() => JSON.parse(text) as unknown))
      if (read.ok) expect(valueOf(read.value.root, text)).toEqual(parsedAsPairs(text))
    }
  })

  test('takes nothing that JSON.parse does not take', () => {
    const json = fc.json({ maxDepth: 3 })
    fc.assert(
      fc.property(
        json,
        fc.nat(),
        fc.constantFrom('', '"', '\\', ',', ']', '}', '0', '-', '.', 'e', '\n'),
        (text, at, put) => {
          const place = at % (text.length + 1)
          const broken = text.slice(0, place) + put + text.slice(place + 1)
          const read = readJson(bytes(broken))
          if (read.ok) expect(valueOf(read.value.root, broken)).toEqual(parsedAsPairs(broken))
          else
            expect(() => JSON.parse(broken) as unknown, read.error).toSatisfy(
              (parse: () => unknown) =>
                read.error !== 'not JSON' || LONG_NUMBER.test(broken) || throws(parse),
            )
        },
      ),
      { numRuns: runs(2_000) },
    )
  })

  test.each([
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['not JSON', bytes('\ufeff{}')],
    ['not JSON', bytes('')],
    ['a member is there twice', bytes('{"a":1,"\\u0061":2}')],
    ['the name of a member is too long', bytes(`{"${'A'.repeat(MAX_NAME + 1)}":1}`)],
    ['the name of a member is too long', bytes(`{"${String.raw`\u0041`.repeat(MAX_NAME)}":1}`)],
    ['nested too deeply', bytes('['.repeat(100_000))],
    ['it holds too many values', bytes(`[${'{},'.repeat(MAX_VALUES)}{}]`)],
    ['it holds too many values', bytes(`[${'{ },'.repeat(MAX_VALUES)}{}]`)],
    ['it holds too many values', bytes(`[${'[1],'.repeat(MAX_VALUES)}1]`)],
    ['not JSON', bytes('1'.repeat(10_000))],
  ])('refuses what is %s', (problem, body) => {
    expect(readJson(body)).toEqual({ ok: false, error: problem })
  })

  test('reads a name of the greatest length', () => {
    expect(readJson(bytes(`{"${'A'.repeat(MAX_NAME)}":1}`)).ok).toBe(true)
  })

  test('keeps a member that is called __proto__', () => {
    const read = readJson(bytes('{"__proto__":"x"}'))
    expect(
      read.ok && read.value.root.type === 'object' && read.value.root.members.has('__proto__'),
    ).toBe(true)
  })
})

describe('readJsonInTurns', () => {
  test('gives the same result as without slices', async () => {
    const json = fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' })
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        const text = bytes(JSON.stringify(value))
        expect(await readJsonInSlices(text)).toEqual(readJson(text))
      }),
    )
  })

  const M = 1 << 20
  test.each([
    ['one string', `"${'x'.repeat(10 * M)}"`],
    ['escapes', `"${'\\u00e9\\"'.repeat(M)}"`],
    ['blanks', `${' '.repeat(10 * M)}1`],
    ['numbers', `[${'1,'.repeat(2 * M)}1]`],
    ['empty objects', `[${'{},'.repeat(3 * M)}{}]`],
    ['short lists', `[${'[1,"a"],'.repeat(30_000)}1]`],
    ['names', `{${Array.from({ length: 90_000 }, (_, at) => `"k${String(at)}":1`).join(',')}}`],
    ['a string behind numbers', `[${'1,'.repeat(M)}"x"]`],
  ])('%s: other work gets a turn after every slice', async (_name, text) => {
    let turns = 0
    const read = await readJsonInSlices(bytes(text), () => {
      turns += 1
      return Promise.resolve()
    })
    const reader = new JsonReader(text)
    const slices: number[] = []
    for (let isRead = false; !isRead;) {
      const before = reader.work
      try {
        isRead = reader.read(SLICE) !== undefined
      } catch {
        isRead = true
      }
      slices.push(reader.work - before)
    }
    // A stretch of a string or of blanks is finished.
    expect(Math.max(...slices)).toBeLessThan(1.5 * SLICE)
    // Of those that come before, the bytes are decoded.
    expect(turns).toBeGreaterThanOrEqual(slices.length - 1)
    expect(turns).toBeGreaterThan(5)
    expect(read.ok || read.error).toSatisfy(
      (said: unknown) => said === true || said === 'it holds too many values',
    )
  })
})

test('an empty object costs its node alone', () => {
  const read = readJson(bytes('[{},{},{ },[],[]]'))
  if (!read.ok || read.value.root.type !== 'array') throw new Error('not read')
  const parts = read.value.root.items.map((node) =>
    node.type === 'object' ? node.members : node.type === 'array' ? node.items : undefined,
  )
  expect(new Set(parts).size).toBe(2)
})

test.each([
  ['[1, 2, 3, 4]', 5],
  ['[1, 2, 3, "x"]', 5],
  ['[[1, 2, 3], [null, true, {"a": [1, 2]}], 5, 6]', 14],
])('%s: scalars of long lists count, and none is lost', (text, values) => {
  const read = readJson(bytes(text))
  if (!read.ok) throw new Error(read.error)
  expect(read.value.values).toBe(values)
  expect(atOnce(plainJson(read.value.root, text))).toBe(JSON.stringify(JSON.parse(text)))
})

test('hundreds of thousands of numbers are one value', () => {
  expect(readJson(bytes(`[${'0.5,'.repeat(300_000)}1]`)).ok).toBe(true)
})

function throws(parse: () => unknown): boolean {
  try {
    parse()
    return false
  } catch {
    return true
  }
}

const applyEdits = (text: string, edits: readonly Edit[]): string =>
  atOnce(applyEditsInSlices(text, edits, new Pace()))

test('an edit changes its place and nothing else', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.string({ unit: 'binary' }), (value, put) => {
      const text = JSON.stringify(value, null, 1)
      const read = readJson(bytes(text))
      if (!read.ok) throw new Error(read.error)
      const strings = stringsOf(read.value.root)
      const edited = applyEdits(
        text,
        strings.map((node) => ({ ...node, json: JSON.stringify(put) })),
      )
      const again = readJson(bytes(edited))
      if (!again.ok) throw new Error(again.error)
      expect(
        stringsOf(again.value.root).map((node) => node.type === 'string' && node.value),
      ).toEqual(strings.map(() => put))
      expect(
        applyEdits(
          edited,
          stringsOf(again.value.root).map((node) => ({ ...node, json: '' })),
        ),
      ).toBe(
        applyEdits(
          text,
          strings.map((node) => ({ ...node, json: '' })),
        ),
      )
    }),
  )
})

function slicesOf<T>(work: Work<T>): { readonly value: T; readonly slices: number } {
  let step = work.next()
  let slices = 1
  for (; step.done !== true; slices += 1) step = work.next()
  return { value: step.value, slices }
}

test('fifty thousand edits of megabytes of two-byte characters are made in slices', () => {
  const text = `"${'ж'.repeat(98)}",`.repeat(50_000)
  const edits = Array.from({ length: 50_000 }, (_, index) => ({
    start: 101 * index,
    end: 101 * index + 100,
    json: '"ф"',
  }))
  const { value, slices } = slicesOf(applyEditsInSlices(text, edits.toReversed(), new Pace()))
  expect(value === '"ф",'.repeat(50_000)).toBe(true)
  // The edits are sorted in two slices, looked at in twelve, and their pieces are joined in the rest.
  expect(slices).toBeGreaterThanOrEqual(14)
})

test('blanks between millions of numbers are removed in slices', () => {
  const text = `[${'1, '.repeat(1 << 20)}1]`
  const read = readJson(bytes(text))
  if (!read.ok) throw new Error(read.error)
  const { value, slices } = slicesOf(plainJson(read.value.root, text))
  expect(value === text.replaceAll(', ', ',')).toBe(true)
  // 3 MiB in slices of at most 256 KiB.
  expect(slices).toBeGreaterThanOrEqual(12)
})
