// A long expression is compiled in slices: between two yields at most one step, one pattern or one loop is done.

import { RE2JS } from '@bufbuild/re2'
import { Environment } from '@marcbachmann/cel-js'
import { describe, expect, test, vi } from 'vitest'
import { compileRule } from '../../../src/extauthz/cel/rule.js'
import { compileValue } from '../../../src/extauthz/cel/value.js'
import type { Work } from '../../../src/kit/turns.js'

const anyOf = (count: number, one: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => one(index)).join(' || ')

/** Returns the most that was parsed, and the most patterns that were compiled, between two yields. */
function mostOf(work: Work<{ readonly ok: boolean }>) {
  const parse = [vi.spyOn(Environment.prototype, 'parse'), vi.spyOn(RE2JS, 'compile')]
  const count = (): number => parse.reduce((sum, { mock }) => sum + mock.calls.length, 0)
  try {
    let [most, slices] = [0, 0]
    for (;;) {
      const before = count()
      const step = work.next()
      slices += 1
      most = Math.max(most, count() - before)
      if (step.done === true) return { most, slices, ok: step.value.ok }
    }
  } finally {
    for (const spy of parse) spy.mockRestore()
  }
}

const LONG = {
  patterns: anyOf(60, (index) => `jwt.sub.matches("^slices-${String(index)}.*[a-z]+$")`),
  'loops over lists of its own': anyOf(60, (index) => `[1, 2].all(n, n < ${String(index)})`),
}

describe.each(Object.entries(LONG))('%s', (_name, source) => {
  test.each([
    ['rule', () => compileRule(source)],
    ['value', () => compileValue(`string(${source})`)],
  ])('in a %s: one is handled between two yields', (_kind, compile) => {
    const { most, slices, ok } = mostOf(compile())
    expect(ok).toBe(true)
    expect(most).toBe(1)
    expect(slices).toBeGreaterThan(60)
  })
})

test('nested loops over the request are searched for loops of their own once', () => {
  const nested = Array.from({ length: 12 }, (_, at) => at).reduceRight(
    (inner, at) => `jwt.groups.exists(g${String(at)}, ${inner})`,
    'jwt.sub == "a"',
  )
  const { ok, slices } = mostOf(compileRule(nested))
  expect(ok).toBe(true)
  expect(slices).toBeLessThan(10)
})
