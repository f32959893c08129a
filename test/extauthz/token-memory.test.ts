// The memory of verified tokens stays within its bounds and keeps what is used.

import { expect, test } from 'vitest'
import { lazyValue } from '../../src/cel/attributes.js'
import { TokenMemory, tokenDigest } from '../../src/extauthz/token-memory.js'

const token = (until: number, size = 1) => ({ claims: lazyValue({}), until, size, allowed: {} })

test('holds at most two generations', () => {
  const memory = new TokenMemory(10)
  for (let i = 0; i < 1000; i++) memory.remember(String(i), token(100))
  expect(memory.size).toBeLessThanOrEqual(20)
  expect(memory.find('999', 0)).toBeDefined()
  expect(memory.find('0', 0)).toBeUndefined()
})

test('holds at most two generations of bytes', () => {
  const memory = new TokenMemory(10, 100)
  for (let i = 0; i < 1000; i++) memory.remember(String(i), token(100, 30))
  expect(memory.size).toBeLessThanOrEqual(6)
  expect(memory.find('999', 0)).toBeDefined()
  expect(memory.find('998', 0)).toBeDefined()
})

test('keeps a token that is asked for while others come and go', () => {
  const memory = new TokenMemory(10)
  memory.remember('kept', token(100))
  for (let i = 0; i < 1000; i++) {
    memory.remember(String(i), token(100))
    expect(memory.find('kept', 0)).toBeDefined()
  }
})

test('forgets at the second a token ends', () => {
  const memory = new TokenMemory()
  memory.remember('a', token(100))
  expect(memory.find('a', 99.9)).toBeDefined()
  expect(memory.find('a', 100)).toBeUndefined()
  expect(memory.size).toBe(0)
})

test('a digest is the SHA-256 of the token', () => {
  expect(tokenDigest('')).toBe('47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')
})
