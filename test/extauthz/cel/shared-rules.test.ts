// Rules with the same text are one compiled rule, which different requests may use at the same time.

import { expect, test } from 'vitest'
import { lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { Budget } from '../../../src/extauthz/cel/budget.js'
import { compileRule, type Rule } from '../../../src/extauthz/cel/rule.js'
import { atOnce } from '../../../src/kit/turns.js'
import { ATTRIBUTES, json } from './helpers.js'

function ruleOf(source: string): Rule {
  const compiled = atOnce(compileRule(source))
  if (!compiled.ok) throw new Error(compiled.error.message)
  return compiled.value
}

test('a rule that is in use is not compiled again', () => {
  const rule = ruleOf('jwt.sub == "shared"')
  expect(ruleOf('jwt.sub == "shared"')).toBe(rule)
  expect(ruleOf('jwt.sub == "other"')).not.toBe(rule)
})

test('a rule that cannot be compiled is rejected each time, with its problem', () => {
  const problems = [1, 2].map(() => atOnce(compileRule('jwt.sub ==')))
  expect(problems.map(({ ok }) => ok)).toEqual([false, false])
  expect(problems[1]).toEqual(problems[0])
})

test('two entries with one rule decide by their own request and spend their own budget', () => {
  const source = 'jwt.sub == "alice" && [1, 2, 3].exists(n, n == 3)'
  const [one, two] = [ruleOf(source), ruleOf(source)]
  const [first, second] = [new Budget(), new Budget()]
  const bob = { ...ATTRIBUTES, jwt: lazyValue(json('{ "sub": "bob" }')) }
  expect(one.evaluate(ATTRIBUTES, first)).toEqual({ ok: true, value: true })
  expect(two.evaluate(bob, second)).toEqual({ ok: true, value: false })
  expect(one.evaluate(ATTRIBUTES, first)).toEqual({ ok: true, value: true })
  expect(second.isSpent).toBe(false)
})
