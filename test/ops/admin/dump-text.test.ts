// The text of a config dump: the same JSON as ever, produced lazily and piece by piece.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json, JsonObject, LazyJson } from '../../../src/model/json.js'
import { dumpText, jsonText } from '../../../src/ops/admin/dump-text.js'

const textOf = (dump: LazyJson): string => [...dumpText(dump)].join('')

/** Members whose names say that they are secrets get other names. */
const renamed = (json: LazyJson): LazyJson =>
  JSON.parse(JSON.stringify(json), (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, member]) => [`m${name}`, member as Json]),
        )
      : value,
  ) as LazyJson

test('is what JSON.stringify writes, whatever is in it', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const json = renamed(value as LazyJson)
      expect(textOf(json)).toBe(`${JSON.stringify(json, null, 2)}\n`)
    }),
  )
})

test('of what has no secrets: nothing is redacted', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect([...jsonText(value as LazyJson)].join('')).toBe(`${JSON.stringify(value, null, 2)}\n`)
    }),
  )
  const one = { password: 'x' }
  expect([...jsonText(one)].join('')).toBe(`${JSON.stringify(one, null, 2)}\n`)
})

test('leaves out what is undefined', () => {
  const json = { a: undefined, b: [], c: {}, d: [1, [2]] } as unknown as LazyJson
  expect(textOf(json)).toBe(`${JSON.stringify(json, null, 2)}\n`)
})

test('makes a part only when the parts before it have left', () => {
  const made: number[] = []
  const route = (index: number): LazyJson => {
    made.push(index)
    return { name: 'x'.repeat(1_000), at: index }
  }
  const pieces: number[] = []
  const before: number[] = []
  const dump = { routes: [...Array(1_000).keys()].map((index) => () => route(index)) }
  for (const piece of dumpText(dump)) {
    pieces.push(piece.length)
    before.push(made.length)
  }
  expect(made).toHaveLength(1_000)
  expect(pieces.length).toBeGreaterThan(10)
  expect(Math.max(...pieces)).toBeLessThan(70_000)
  expect(before[0]).toBeLessThan(70)
})

test('what a part gives is redacted as everything else', () => {
  expect(textOf({ keys: [() => ({ kty: 'RSA', d: 's3cret' })] })).not.toContain('s3cret')
})

test.each<JsonObject>([
  { kty: 'AKP', kid: 'one', alg: 'ML-DSA-44', pub: 'p', priv: 's3cret' },
  { kty: 'RSA', kid: 'one', n: 'n', e: 'e', somethingNewer: 's3cret' },
  { kid: 'one', n: 'n', d: 's3cret' },
  { kid: 'one', Kty: 'oct', K: 's3cret' },
  { kid: 'one', x5c: [{ d: 's3cret' }] },
])('of a key set shows only what is public of a key: %j', (key) => {
  const shown = textOf({ state: 'available', jwks: { keys: [key], more: { d: 's3cret' } } })
  expect(shown).not.toContain('s3cret')
  expect(shown).toContain('"kid": "one"')
})
