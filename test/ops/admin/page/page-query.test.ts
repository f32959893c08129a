// What the address of the status page may say, and how its search compares words.

import { expect, test } from 'vitest'
import {
  addressOf,
  readPageQuery,
  searchFor,
  searchTest,
} from '../../../../src/ops/admin/page/page-query.js'

const FIRST = { search: '', routes: 1, decisions: 1, resources: 1 }

test('an address says what to search for and which pages to show', () => {
  expect(readPageQuery('')).toEqual(FIRST)
  expect(readPageQuery('q=a+b%26&routes=3')).toEqual({ ...FIRST, search: 'a b&', routes: 3 })
})

test.each(['0', '-1', '1.5', '1e9', '9999999', 'x', '%', '__proto__'])(
  'the page %s is the first one',
  (page) => {
    expect(readPageQuery(`routes=${page}`).routes).toBe(1)
  },
)

test('a search is cut to 200 characters', () => {
  expect(readPageQuery(`q=${'x'.repeat(10_000)}`).search).toHaveLength(200)
})

test('an address that was made for a view leads to it', () => {
  const view = { ...FIRST, search: '<"&#', routes: 2 }
  const address = new URL(addressOf(view, 'routes'), 'http://x')
  expect(address.hash).toBe('#routes')
  expect(readPageQuery(address.search.slice(1))).toEqual(view)
  expect(addressOf(FIRST)).toBe('/')
  expect(searchFor('a/b')).toBe('/?q=a%2Fb')
})

test('every word of a search must be found, in any case and in any text', () => {
  const texts = () => ['default/MCP', undefined, 'policy.yaml:12']
  expect(searchTest('mcp')(texts)).toBe(true)
  expect(searchTest(' policy  mcp ')(texts)).toBe(true)
  expect(searchTest('mcp other')(texts)).toBe(false)
})

test('without a search nothing is looked at', () => {
  const texts = (): readonly string[] => {
    throw new Error('looked at')
  }
  expect(searchTest('  ')(texts)).toBe(true)
})
