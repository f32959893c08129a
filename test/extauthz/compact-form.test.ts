// The compact form of a token (RFC 7515 section 7.1) by its definition: three parts of base64url, each as its bytes are
// encoded, of which only the payload may be empty.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compactParts, JoseHeaders } from '../../src/extauthz/token/jws.js'
import { runs } from '../support/runs.js'
import { someRows } from '../support/some-rows.js'

const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)\.([A-Za-z0-9_-]+)$/

const headers = new JoseHeaders()
const bytesOf = (part: string): Buffer => Buffer.from(part, 'base64url')
const isCanonical = (part: string): boolean => bytesOf(part).toString('base64url') === part

function byDefinition(token: string): object | undefined {
  const [, header, payload = '', signature = ''] = COMPACT.exec(token) ?? []
  if (header === undefined || !isCanonical(payload) || !isCanonical(signature)) return undefined
  const signed = token.slice(0, token.lastIndexOf('.'))
  return { token, signed, header, payload: bytesOf(payload), signature: bytesOf(signature) }
}

const CHARACTERS = [...'ABYZabyz0189-_', ...'-_AQgw', ...'.+/= \t\n\0%', 'é', 'ÿ', 'Ā', 'Ń', '🙂']
const part = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .uint8Array({ minLength: 1, maxLength: 70 })
      .map((bytes) => Buffer.from(bytes).toString('base64url')),
  },
  { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom(...'ABYZ01-_AQgw'), maxLength: 12 }) },
)
const token = fc.array(part, { minLength: 3, maxLength: 3 }).map((parts) => parts.join('.'))
const change = fc.record({
  at: fc.nat(220),
  removed: fc.nat(2),
  added: fc.string({ unit: fc.constantFrom(...CHARACTERS), maxLength: 2 }),
})

test('is what its definition says, whatever is changed in a token', () => {
  let accepted = 0
  const check = (text: string): void => {
    const expected = byDefinition(text)
    if (expected !== undefined) accepted += 1
    expect(compactParts(text, headers)).toEqual(expected)
  }
  fc.assert(
    fc.property(token, fc.array(change, { minLength: 1, maxLength: 2 }), (whole, changes) => {
      const changed = changes.reduce(
        (text, { at, removed, added }) => text.slice(0, at) + added + text.slice(at + removed),
        whole,
      )
      check(whole)
      check(changed)
    }),
    { numRuns: runs(20_000) },
  )
  expect(accepted).toBeGreaterThan(1000)
})

test.each(someRows(CHARACTERS.filter((one) => !/[\w-]/.test(one))))(
  '%j belongs to no part',
  (character) => {
    for (const text of ['QUJD.QUJD.QUJD', 'QUI.QUI.QUI', 'QQ.QQ.QQ'])
      for (let at = 0; at <= text.length; at += 1)
        for (const removed of [0, 1]) {
          const changed = text.slice(0, at) + character + text.slice(at + removed)
          expect(compactParts(changed, headers)).toEqual(byDefinition(changed))
        }
  },
)
