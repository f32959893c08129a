// The seal of sessions: opens for its subject, issuer, policy and keys alone, and fits into a header.

import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSessionSeal, sessionSubject } from '../../../src/extauthz/oauth/session-seal.js'
import type { SessionBinding } from '../../../src/model/session-binding.js'
import { runs } from '../../support/runs.js'

const key = (): string => randomBytes(32).toString('base64url')
const BOUND: SessionBinding = {
  policy: 'default/mcp',
  issuer: 'https://idp.example',
  sealingKeys: [key()],
}
const seal = createSessionSeal(BOUND)

const character = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))
const id = fc.string({ unit: character, minLength: 1, maxLength: 1024 })
const subject = fc.string({ minLength: 1 })

test('any id opens for its subject alone, and fits into a header', () => {
  fc.assert(
    fc.property(id, subject, subject, (plain, own, other) => {
      const sealed = seal.seal(plain, own) ?? ''
      expect(sealed).toMatch(/^[\w-]{1,1600}$/)
      expect(seal.open(sealed, own)).toBe(plain)
      expect(seal.open(sealed, other)).toBe(other === own ? plain : undefined)
      expect(seal.open(plain, own)).toBeUndefined()
    }),
    { numRuns: runs(500) },
  )
})

test('any change of a sealed id makes it unknown', () => {
  const sealed = seal.seal('one', 'alice') ?? ''
  fc.assert(
    fc.property(fc.nat(sealed.length - 1), character, (at, by) => {
      const changed = sealed.slice(0, at) + by + sealed.slice(at + 1)
      expect(seal.open(changed, 'alice')).toBe(changed === sealed ? 'one' : undefined)
    }),
    { numRuns: runs(500) },
  )
})

test('another replica with the same keys opens it', () => {
  const sealed = createSessionSeal({ ...BOUND }).seal('one', 'alice') ?? ''
  expect(seal.open(sealed, 'alice')).toBe('one')
})

describe('it does not open', () => {
  test.each<[string, Partial<SessionBinding>]>([
    ['under another policy', { policy: 'evil/mcp' }],
    ['for tokens of another issuer', { issuer: 'https://other.example' }],
    ['with another key', { sealingKeys: [key()] }],
  ])('%s', (_name, change) => {
    const other = createSessionSeal({ ...BOUND, ...change })
    expect(other.open(seal.seal('one', 'alice') ?? '', 'alice')).toBeUndefined()
  })
})

test('a key is added and retired without the end of sessions in between', () => {
  const [before, now] = [key(), key()]
  const [old, both, later] = [[before], [now, before], [now]].map((sealingKeys) =>
    createSessionSeal({ ...BOUND, sealingKeys }),
  )
  const [first, second] = [old?.seal('one', 'alice') ?? '', both?.seal('two', 'alice') ?? '']
  expect([both, later].map((one) => one?.open(first, 'alice'))).toEqual(['one', undefined])
  expect([both, later].map((one) => one?.open(second, 'alice'))).toEqual(['two', 'two'])
})

test.each(['', 'a b', 'ä', 'line\nend', 'x'.repeat(1025)])(
  '%j is no id that MCP allows',
  (plain) => {
    expect(seal.seal(plain, 'alice')).toBeUndefined()
  },
)

test.each([
  [{ sub: 'alice' }, 'alice'],
  [{ sub: '' }, undefined],
  [{ sub: 7 }, undefined],
  [{ sub: null }, undefined],
  [{ client_id: 'x' }, undefined],
])('the subject of %j is %j', (claims, found) => {
  expect(sessionSubject(claims)).toBe(found)
})
