// The memory of verified tokens stays within its limits and keeps recently used tokens.

import { expect, test, vi } from 'vitest'
import { tokenDigest, TokenMemory } from '../../../src/extauthz/token/token-memory.js'
import { claimsOf } from '../helpers.js'

const token = (until: number, size = 1) => ({
  claims: claimsOf({}),
  until,
  size,
  isKept: true,
  allowed: {},
})

test('holds those that were used last', () => {
  const memory = new TokenMemory(10)
  for (let i = 0; i < 1000; i++) memory.remember(String(i), token(100))
  expect(memory.size).toBe(10)
  for (let i = 990; i < 1000; i++) expect(memory.find(String(i), 0)).toBeDefined()
  expect(memory.find('989', 0)).toBeUndefined()
})

test('holds as many live tokens as it is for, however often they come', () => {
  const memory = new TokenMemory(100)
  for (let i = 0; i < 100; i++) memory.remember(String(i), token(100))
  for (let times = 0; times < 5; times++)
    for (let i = 0; i < 100; i++) expect(memory.find(String(i), 0)).toBeDefined()
})

test('holds at most so many bytes', () => {
  const memory = new TokenMemory(10, 100)
  for (let i = 0; i < 1000; i++) memory.remember(String(i), token(100, 30))
  expect(memory.size).toBe(3)
  expect(memory.find('999', 0)).toBeDefined()
  memory.remember('larger than all', token(100, 101))
  expect(memory.find('larger than all', 0)).toBeUndefined()
})

test('may hold none', () => {
  const memory = new TokenMemory(0)
  memory.remember('a', token(100))
  expect(memory.find('a', 0)).toBeUndefined()
})

test('keeps a token that is asked for while others come and go', () => {
  const memory = new TokenMemory(10)
  memory.remember('kept', token(100))
  for (let i = 0; i < 1000; i++) {
    memory.remember(String(i), token(100))
    expect(memory.find('kept', 0)).toBeDefined()
  }
})

test('asking for a token writes nothing to the table it is found in', () => {
  const memory = new TokenMemory(10)
  memory.remember('a', token(100))
  memory.remember('b', token(100))
  const writes = [vi.spyOn(Map.prototype, 'set'), vi.spyOn(Map.prototype, 'delete')]
  for (let i = 0; i < 10; i++) memory.find(i % 2 === 0 ? 'a' : 'b', 0)
  const counts = writes.map((write) => write.mock.calls.length)
  vi.restoreAllMocks()
  expect(counts).toEqual([0, 0])
})

test('one that is too large pushes no other out', () => {
  const memory = new TokenMemory(10, 100)
  memory.remember('a', token(100, 30))
  memory.remember('larger than all', token(100, 101))
  expect(memory.find('a', 0)).toBeDefined()
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

test('knows the tokens that were verified last, at least half as many as it is for', () => {
  const memory = new TokenMemory(10)
  for (let i = 0; i < 1000; i++) {
    memory.noteVerified(String(i))
    for (let latest = Math.max(0, i - 4); latest <= i; latest++)
      expect(memory.wasVerified(String(latest))).toBe(true)
  }
  const known = Array.from({ length: 1000 }, (_, i) => memory.wasVerified(String(i)))
  expect(known.filter((isKnown) => isKnown).length).toBeLessThanOrEqual(10)
  expect(memory.size).toBe(0)
})

test('knows one token if it is for one, and none if it is for none', () => {
  for (const max of [0, 1]) {
    const memory = new TokenMemory(max)
    memory.noteVerified('a')
    expect(memory.wasVerified('a')).toBe(max === 1)
  }
})
