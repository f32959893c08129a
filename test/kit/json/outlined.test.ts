// Members whose objects are read again and not kept, and halves of surrogate pairs, in any JSON.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonText, readJson, readJsonInTurns } from '../../../src/kit/json/json-text.js'
import { MAX_VALUES } from '../../../src/kit/json/keeps.js'
import { plainJson } from '../../../src/kit/json/print-json.js'
import { atOnce } from '../../../src/kit/turns.js'
import { runs } from '../../support/runs.js'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

function outlined(text: string): JsonText {
  const read = atOnce(readJsonInTurns(bytes(text), { outlined: new Set(['logprobs']) }))
  if (!read.ok) throw new Error(read.error)
  return read.value
}

const value = fc.jsonValue({ maxDepth: 4 })

test('what is not kept is read as it is, wherever there is space', () => {
  fc.assert(
    fc.property(value, value, fc.constantFrom(0, 1, '\t', '\r\n '), (first, second, space) => {
      const items = [first, { first, second }, [{ second }], 0, { logprobs: [{ first }] }]
      const json = [{ before: first, logprobs: { items, second }, after: [{ second }] }]
      const text = JSON.stringify(json, undefined, space)
      const { root, values } = outlined(text)
      const whole = readJson(bytes(text))
      if (!whole.ok) throw new Error(whole.error)
      expect(atOnce(plainJson(root, text))).toBe(atOnce(plainJson(whole.value.root, text)))
      expect(values).toBe(whole.value.values)
    }),
    { numRuns: runs(500) },
  )
})

test('what is not kept does not count, and what is broken in it is found', () => {
  const text = (item: string): string =>
    `{"logprobs":{"content":[${`${item},`.repeat(MAX_VALUES)}{}]}}`
  const { root } = outlined(text('{"token":"a","top_logprobs":[{"token":"b"},{"token":"c"}]}'))
  expect(root.type).toBe('object')
  for (const broken of ['{"token":"a","token":"b"}', '{"token":}'])
    expect(() => outlined(text(broken))).toThrow()
  expect(() => outlined(`[${'{"token":"a"},'.repeat(MAX_VALUES)}0]`)).toThrow('too many values')
})

test('what is shorter than what would stand for it is kept, and counts', () => {
  for (const item of ['{}', '{"token":"a"}', '{"a":{"b":{"c":[1]}}}'])
    expect(() => outlined(`{"logprobs":[[${`${item},`.repeat(MAX_VALUES)}{}]]}`)).toThrow(
      'too many values',
    )
})

/** Returns the text as JSON, with escapes for some of its UTF-16 units, the halves of pairs among them. */
function escaped(text: string, isEscaped: readonly boolean[]): string {
  const units = text.split('').map((unit, index) => {
    const isHalf = /[\ud800-\udfff]/.test(unit)
    return isHalf || isEscaped[index % isEscaped.length] === true
      ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
      : JSON.stringify(unit).slice(1, -1)
  })
  return `"${units.join('')}"`
}

test('half of a surrogate pair is noticed in strings and names of any length, and a pair is none', () => {
  const unit = fc.constantFrom('a', '\ud83d', '\ude00', '\ud83d\ude00', 'b'.repeat(8191), '\n')
  fc.assert(
    fc.property(
      fc.array(unit, { maxLength: 12 }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      (units, isEscaped, isName) => {
        const text = units.join('')
        const json = escaped(text, isEscaped)
        // Names have a greatest length.
        const inName = isName && text.length < 5000
        const read = readJson(bytes(inName ? `[{${json}:1},"x\\n"]` : `[${json},"x\\n"]`))
        if (!read.ok) throw new Error(read.error)
        expect(read.value.isWellFormed).toBe(text.isWellFormed())
      },
    ),
    { numRuns: runs(500) },
  )
})
