// What a relay seals and signs opens for the same purpose, policy and key, unmodified and in time, and never otherwise.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Relay } from '../../../src/model/relay.js'
import { key, relayOf, vaultOf } from '../../addons/relay/oauth/support.js'

const NOW = 1_800_000_000_000
const relay = relayOf()
const vault = vaultOf(relay)
const VALUE = { a: 'secret', exp: NOW / 1000 + 60 }

test('what was sealed opens until it is over', () => {
  const sealed = vault.seal('code', VALUE)
  expect(sealed).not.toContain('secret')
  expect(vault.open('code', sealed, NOW)).toEqual(VALUE)
  expect(vault.open('code', sealed, NOW + 59_999)).toEqual(VALUE)
  expect(vault.open('code', sealed, NOW + 60_000)).toBeUndefined()
})

test('an expiry that is no number is over', () => {
  expect(vault.open('code', vault.seal('code', { exp: 'never' }), NOW)).toBeUndefined()
})

test('the same value is never sealed alike', () => {
  expect(vault.seal('code', VALUE)).not.toBe(vault.seal('code', VALUE))
})

describe('nothing opens', () => {
  test('for another purpose', () => {
    for (const purpose of ['state', 'refresh', 'consent'] as const)
      expect(vault.open(purpose, vault.seal('code', VALUE), NOW)).toBeUndefined()
  })

  test.each<[string, Partial<Relay>]>([
    ['key', { sealingKeys: [key()] }],
    ['policy', { policy: 'other/mcp' }],
    ['issuer', { issuer: 'https://gw.example/other' }],
    ['provider', { providerIssuer: 'https://other.example' }],
  ])('under another %s', (_, change) => {
    const other = vaultOf({ ...relay, ...change })
    expect(other.open('code', vault.seal('code', VALUE), NOW)).toBeUndefined()
    expect(other.isSigned('client', 'text', vault.sign('client', 'text'))).toBe(false)
  })

  test('with any bit changed, or cut anywhere', () => {
    const bytes = Buffer.from(vault.seal('code', VALUE), 'base64url')
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(vault.open('code', changed.toString('base64url'), NOW)).toBeUndefined()
      expect(vault.open('code', bytes.subarray(0, at).toString('base64url'), NOW)).toBeUndefined()
    }
  })

  test('in another spelling of base64url', () => {
    const [signature, sealed] = [vault.sign('client', 'text'), vault.seal('code', VALUE)]
    expect(vault.isSigned('client', 'text', signature)).toBe(true)
    const spellings = (text: string): readonly string[] => {
      const last = text.codePointAt(text.length - 1) ?? 0
      return [
        `${text}=`,
        `${text} `,
        `${text}\n`,
        ` ${text}`,
        `${text.slice(0, 9)}.${text.slice(9)}`,
        // Node takes the lowest byte of a character.
        text.slice(0, -1) + String.fromCodePoint(last + 0x100),
        ...[...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/']
          .filter((character) => character !== text.at(-1))
          .map((character) => text.slice(0, -1) + character),
      ]
    }
    for (const other of spellings(signature))
      expect(vault.isSigned('client', 'text', other), other).toBe(false)
    for (const other of spellings(sealed))
      expect(vault.open('code', other, NOW), other).toBeUndefined()
  })

  test('that was never sealed, and nothing throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        expect(vault.open('code', text, NOW)).toBeUndefined()
        expect(vault.isSigned('client', 'text', text)).toBe(false)
      }),
    )
    expect(vault.open('code', 'A'.repeat(1_000_000), NOW)).toBeUndefined()
  })
})

describe('of several keys', () => {
  const [before, now] = [key(), key()]
  const [old, both, later] = [[before], [now, before], [now]].map((sealingKeys) =>
    vaultOf({ ...relay, sealingKeys }),
  )

  test('the first seals and signs', () => {
    const sealed = both?.seal('code', VALUE) ?? ''
    expect(later?.open('code', sealed, NOW)).toEqual(VALUE)
    expect(old?.open('code', sealed, NOW)).toBeUndefined()
    expect(later?.isSigned('client', 'x', both?.sign('client', 'x') ?? '')).toBe(true)
  })

  test('all open, until one is retired', () => {
    const sealed = old?.seal('code', VALUE) ?? ''
    expect(both?.open('code', sealed, NOW)).toEqual(VALUE)
    expect(later?.open('code', sealed, NOW)).toBeUndefined()
    const signature = old?.sign('client', 'x') ?? ''
    expect([both, later].map((one) => one?.isSigned('client', 'x', signature))).toEqual([
      true,
      false,
    ])
  })
})

test('a policy without a key seals nothing', () => {
  expect(() => vaultOf({ ...relay, sealingKeys: [] }).seal('code', VALUE)).toThrow(RangeError)
})

test('a signature is for its text and its purpose alone', () => {
  const signature = vault.sign('client', 'text')
  expect(vault.isSigned('client', 'text', signature)).toBe(true)
  expect(vault.isSigned('client', 'texts', signature)).toBe(false)
  expect(vault.isSigned('consent-form', 'text', signature)).toBe(false)
})
