// The second check of a path: against the patterns of an entry, within one budget, without compiling them again.

import { RE2JS } from '@bufbuild/re2'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type CompiledPaths, compilePaths, pathFault } from '../../src/extauthz/path-check.js'
import { atOnce } from '../../src/kit/turns.js'
import type { PathMatch } from '../../src/model/route.js'

const patterns = (count: number, pattern: (index: number) => string): readonly PathMatch[] =>
  Array.from({ length: count }, (_, index) => ({
    type: 'RegularExpression',
    value: pattern(index),
  }))

const compiled = (paths: readonly PathMatch[]): CompiledPaths => atOnce(compilePaths(paths))

test('a thousand patterns are compiled with the table, and by no request', () => {
  const entries = ['one', 'two'].map((name) =>
    compiled(patterns(1_000, (index) => `/${name}/${String(index)}/[a-z]+`)),
  )
  const compile = vi.spyOn(RE2JS, 'compile')
  onTestFinished(() => compile.mockRestore())
  for (const paths of [...entries, ...entries]) {
    expect(pathFault('/one/999/x', paths)).toBe(paths === entries[0] ? undefined : 'path-mismatch')
    expect(pathFault('/two/0/x', paths)).toBe(paths === entries[1] ? undefined : 'path-mismatch')
  }
  expect(compile).not.toHaveBeenCalled()
})

test('a path that no pattern matches spends one budget, not one for each pattern', () => {
  const paths = compiled(patterns(500, (index) => `/(a|b)*a(a|b){100}c${String(index)}`))
  const test = vi.spyOn(RE2JS.prototype, 'test')
  onTestFinished(() => test.mockRestore())
  expect(pathFault(`/${'ab'.repeat(4_000)}`, paths)).toBe('path-mismatch')
  expect(test.mock.calls.length).toBeLessThan(20)
})

test('a path is compared with plain matches first', () => {
  const plain: PathMatch = { type: 'PathPrefix', value: '/plain' }
  const test = vi.spyOn(RE2JS.prototype, 'test')
  onTestFinished(() => test.mockRestore())
  const paths = compiled([...patterns(3, (index) => `/x${String(index)}`), plain])
  expect(pathFault('/plain/x', paths)).toBe(undefined)
  expect(test).not.toHaveBeenCalled()
})

test('what is no pattern matches nothing', () => {
  expect(pathFault('/(', compiled(patterns(1, () => '/(')))).toBe('path-mismatch')
})
