// Conditions name each entry of a key set that is not used, by its kid or its place, with the reason.

import { expect, test } from 'vitest'
import { keyNotes } from '../../../src/control/translate/backends/remote-notes.js'
import type { Json } from '../../../src/model/json.js'

const GOOD = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }

const notes = (...keys: readonly Json[]): readonly string[] =>
  keyNotes('the set', { keys: [...keys] })

test('entries with one reason are named together', () => {
  const enc = { ...GOOD, use: 'enc' }
  expect(notes({ ...enc, kid: 'a' }, null, enc, 'key', GOOD)).toEqual([
    'Keys of the set that cannot be used: "a", keys[2]: its "use" is not "sig"; keys[1], keys[3]: it is not an object',
  ])
  expect(notes(GOOD)).toEqual([])
})

test('a set of nothing else says so, and stays within what a condition holds', () => {
  const kid = '"'.repeat(1000)
  const kinds: readonly Json[] = [null, { kty: 'oct', kid }, { ...GOOD, alg: 'none', kid }]
  const many = Array.from({ length: 300 }, (_, at) => kinds[at % kinds.length] ?? null)
  const [first, second = '', ...more] = notes(...many)
  expect([first, more]).toEqual(['the set has no usable key: no token is valid', []])
  expect(second).toContain('keys[0], keys[3], ')
  expect(second).toContain('54 more: it is not an object')
  expect(second.length).toBeLessThan(32_768)
})
