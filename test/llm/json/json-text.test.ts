// The JSON reader agrees with JSON.parse on what is JSON and what it says, and edits change nothing else.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyEdits, readJson, type JsonNode } from '../../../src/llm/json/json-text.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const valueOf = (node: JsonNode, text: string): unknown => {
  switch (node.type) {
    case 'object':
      return Object.fromEntries(
        [...node.members].map(([name, value]) => [name, valueOf(value, text)]),
      )
    case 'array':
      return node.items.map((item) => valueOf(item, text))
    case 'string':
      return node.value
    default:
      return JSON.parse(text.slice(node.start, node.end)) as unknown
  }
}

const stringsOf = (node: JsonNode): JsonNode[] => {
  if (node.type === 'object') return [...node.members.values()].flatMap(stringsOf)
  if (node.type === 'array') return node.items.flatMap(stringsOf)
  return node.type === 'string' ? [node] : []
}

describe('readJson', () => {
  test('says what JSON.parse says, wherever there is space', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5 }),
        fc.constantFrom(0, 1, '\t', '\r\n '),
        (value, space) => {
          const text = JSON.stringify(value, null, space).replaceAll('\\r\\n', '\\r\\n')
          const read = readJson(bytes(text))
          if (!read.ok) throw new Error(read.error)
          expect(valueOf(read.value.root, text)).toEqual(JSON.parse(text))
        },
      ),
    )
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
          if (read.ok) expect(valueOf(read.value.root, broken)).toEqual(JSON.parse(broken))
          else
            expect(() => JSON.parse(broken) as unknown, read.error).toSatisfy(
              (parse: () => unknown) => read.error !== 'not JSON' || throws(parse),
            )
        },
      ),
      { numRuns: 2_000 },
    )
  })

  test.each([
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['not JSON', bytes('\ufeff{}')],
    ['not JSON', bytes('')],
    ['a member is there twice', bytes('{"a":1,"\\u0061":2}')],
    ['nested too deeply', bytes('['.repeat(100_000))],
  ])('refuses what is %s', (problem, body) => {
    expect(readJson(body)).toEqual({ ok: false, error: problem })
  })

  test('keeps a member that is called __proto__', () => {
    const read = readJson(bytes('{"__proto__":"x"}'))
    expect(
      read.ok && read.value.root.type === 'object' && read.value.root.members.has('__proto__'),
    ).toBe(true)
  })
})

const throws = (parse: () => unknown): boolean => {
  try {
    parse()
    return false
  } catch {
    return true
  }
}

test('an edit changes its place and nothing else', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.string({ unit: 'binary' }), (value, put) => {
      const text = JSON.stringify(value, null, 1)
      const read = readJson(bytes(text))
      if (!read.ok) return
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
