// Rules that compare an argument with a value of another type fail, as servers coerce arguments: neither a Require nor a
// Deny may be passed by "true", 1 or "yes" in place of true.

import { describe, expect, test } from 'vitest'
import type { Authorization } from '../../src/model/authorization.js'
import { available, bearer, checker, entry, jwt, sign, signingKey } from './helpers.js'

type Result = 'true' | 'false' | 'fails'

/** What an expression is: true lets a Require pass, false a Require of its negation, and neither: it fails. */
async function resultOf(expression: string, args: object): Promise<Result> {
  const key = await KEY
  const token = await sign(key, { level: 3, name: 'a', flags: ['x', true], limits: { '1': true } })
  const statusOf = async (parts: Partial<Authorization>): Promise<number> => {
    const authorization = { deny: [], require: [], allow: [], ...parts }
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)), authorization })])
    const params = { name: 'x', arguments: args }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const headers = [bearer(token), ['content-type', 'application/json'] as const]
    return (await check({ headers, body })).status
  }
  const isTrue = (await statusOf({ require: [expression] })) === 200
  const isFalse = (await statusOf({ deny: [expression] })) === 200
  expect([isTrue, isFalse]).not.toEqual([true, true])
  expect(await statusOf({ require: [`!(${expression})`] })).toBe(isFalse ? 200 : 403)
  return isTrue ? 'true' : isFalse ? 'false' : 'fails'
}

const KEY = signingKey()

const A = 'mcp.tool.arguments'

/** All that servers may take for true. */
const OTHERS = ['true', 1, 'yes', [true], { value: true }, 1.5, 'TRUE']

/** Ways to write that the argument "force" is true, and that it is not. */
const FORCED = [
  `${A}.force == true`,
  `true == ${A}.force`,
  `!(${A}.force != true)`,
  `${A}.force in [true]`,
  `${A}["force"] == true`,
  `mcp["tool"].arguments.force == true`,
  `${A} == {"force": true}`,
  `[true].exists(t, t == ${A}.force)`,
  `[true].all(t, t == ${A}.force)`,
  `[true].exists_one(t, t == ${A}.force)`,
  `[true].filter(t, t == ${A}.force) == [true]`,
  `[${A}.force].exists(f, f == true)`,
  `[${A}.force].all(f, f == true)`,
  `[${A}.force].map(f, f)[0] == true`,
  `[${A}.force] == [true]`,
  `{"f": ${A}.force}.f == true`,
  `cel.bind(f, ${A}.force, f == true)`,
  `cel.bind(t, mcp.tool, t.arguments.force == true)`,
  `cel.bind(m, mcp, m.tool.arguments.force == true)`,
  `cel.bind(a, ${A}, a["force"] in [true])`,
  `default(${A}.force, false) == true`,
  `${A}.?force.orValue(false) == true`,
  `[${A}.?force] == [optional.of(true)]`,
  `dyn(${A}.force) == true`,
  `${A}[?"force"].value() == true`,
  `(jwt.level == 3 ? ${A}.force : false) == true`,
  `${A}.exists(k, ${A}[k] == true)`,
  `["force"].exists(k, ${A}[k] == true)`,
  `cel.bind(x, true, ${A}.force == x)`,
]

describe.each(FORCED)('%s', (expression) => {
  test('of a bool', async () => {
    expect(await resultOf(expression, { force: true })).toBe('true')
    expect(await resultOf(expression, { force: false })).toBe('false')
  })

  test.each(OTHERS)('fails of %j', async (force) => {
    expect(await resultOf(expression, { force })).toBe('fails')
  })

  test('compares null', async () => {
    expect(await resultOf(expression, { force: null })).toBe('false')
  })
})

describe('numbers are one type', () => {
  test.each<[string, object, Result]>([
    [`${A}.n == 1`, { n: 1 }, 'true'],
    [`${A}.n == 1.0`, { n: 1 }, 'true'],
    [`${A}.n == 1u`, { n: 1 }, 'true'],
    [`${A}.n == 1`, { n: 1.5 }, 'false'],
    [`${A}.n == 1.5`, { n: 1.5 }, 'true'],
    [`${A}.n in [2u, 1u]`, { n: 1 }, 'true'],
    [`${A}.n in [1.5, 2]`, { n: 2 }, 'true'],
    [`[${A}.n] == [1u]`, { n: 1 }, 'true'],
    [`${A}.n == jwt.level`, { n: 3 }, 'true'],
    [`${A}.n == jwt.level`, { n: '3' }, 'fails'],
    [`${A}.n == 1`, { n: true }, 'fails'],
    [`${A}.n == 1`, { n: '1' }, 'fails'],
  ])('%s of %j is %s', async (expression, args, result) => {
    expect(await resultOf(expression, args)).toBe(result)
  })
})

describe('what is found counts', () => {
  test.each<[string, object, Result]>([
    [`${A}.mode in ["r", 1]`, { mode: 'r' }, 'true'],
    [`${A}.mode in ["r", 1]`, { mode: 'w' }, 'fails'],
    [`"evil" in ${A}.tags`, { tags: [1, 'evil'] }, 'true'],
    [`"evil" in ${A}.tags`, { tags: [1] }, 'fails'],
    [`"evil" in ${A}.tags`, { tags: ['good'] }, 'false'],
    [`"evil" in ${A}.tags`, { tags: [] }, 'false'],
    [`"evil" in ${A}.tags`, { tags: 'evil' }, 'fails'],
    [`${A}.tags.exists(t, t == "evil")`, { tags: [1, 'evil'] }, 'true'],
    [`${A}.tags.exists(t, t == "evil")`, { tags: [1] }, 'fails'],
    [`${A}.tags.all(t, t == "good")`, { tags: [1, 'evil'] }, 'false'],
    [`${A}.tags.all(t, t == "good")`, { tags: ['good', 1] }, 'fails'],
    [`${A}.tag in jwt.flags`, { tag: 'x' }, 'true'],
    [`${A}.tag in jwt.flags`, { tag: 'y' }, 'fails'],
    [`null in ${A}.tags`, { tags: ['a', null] }, 'true'],
    [`null in ${A}.tags`, { tags: ['a'] }, 'false'],
  ])('%s of %j is %s', async (expression, args, result) => {
    expect(await resultOf(expression, args)).toBe(result)
  })
})

describe('keys', () => {
  test.each<[string, object, Result]>([
    [`"force" in ${A}`, { force: 1 }, 'true'],
    [`"other" in ${A}`, { force: 1 }, 'false'],
    [`${A}.k in jwt.limits`, { k: '1' }, 'true'],
    [`${A}.k in jwt.limits`, { k: 1 }, 'fails'],
    [`default(jwt.limits[${A}.k], false)`, { k: '1' }, 'true'],
    [`default(jwt.limits[${A}.k], false)`, { k: '2' }, 'false'],
    [`default(jwt.limits[${A}.k], false)`, { k: 1 }, 'fails'],
    [`jwt.limits[?${A}.k].orValue(false)`, { k: 1 }, 'fails'],
    [`${A}.k in {"a": 1}`, { k: 'a' }, 'true'],
    [`${A}.k in {"a": 1}`, { k: ['a'] }, 'fails'],
    [`default({"a": true}[${A}.k], false)`, { k: ['a'] }, 'fails'],
    [`default([false, true][${A}.k], false)`, { k: 1 }, 'true'],
    [`default([false, true][${A}.k], false)`, { k: '1' }, 'fails'],
  ])('%s of %j is %s', async (expression, args, result) => {
    expect(await resultOf(expression, args)).toBe(result)
  })
})

describe('lists and maps', () => {
  test.each<[string, object, Result]>([
    [`${A}.list == ["a", 1]`, { list: ['a', 1] }, 'true'],
    [`${A}.list == ["a", 1]`, { list: ['a', '1'] }, 'fails'],
    [`${A}.list == ["a", 1]`, { list: ['a'] }, 'false'],
    [`${A}.list == []`, { list: {} }, 'fails'],
    [`${A} == {"a": {"b": null}}`, { a: { b: null } }, 'true'],
    [`${A} == {"a": {"b": null}}`, { a: { b: 1 } }, 'false'],
    [`${A} == {"a": 1}`, { b: 1 }, 'false'],
    [`${A} == {"a": 1}`, { A: 1 }, 'fails'],
    [`${A}.a == ${A}.b`, { a: { x: [1] }, b: { x: [1] } }, 'true'],
    [`${A}.a == ${A}.b`, { a: { x: [1] }, b: { x: ['1'] } }, 'fails'],
    [
      `timestamp(${A}.t) == timestamp("2026-01-01T00:00:00Z")`,
      { t: '2026-01-01T00:00:00Z' },
      'true',
    ],
    [`[duration(${A}.t)] == [duration("60s")]`, { t: '1m' }, 'true'],
    [`[duration(${A}.t)] == [duration("60s")]`, { t: '2m' }, 'false'],
    [`type(${A}.t) == string`, { t: '2m' }, 'true'],
    [`type(${A}.t) == string`, { t: 2 }, 'false'],
    [`bytes(${A}.t) == b"a"`, { t: 'a' }, 'true'],
  ])('%s of %j is %s', async (expression, args, result) => {
    expect(await resultOf(expression, args)).toBe(result)
  })
})

describe('the text of an argument', () => {
  test.each<[unknown, Result]>([
    [true, 'true'],
    ['true', 'true'],
    [1, 'true'],
    [false, 'false'],
    [0, 'false'],
    [[true], 'fails'],
    [null, 'fails'],
  ])('of %j', async (force, result) => {
    expect(await resultOf(`string(${A}.force) in ["true", "1", "yes"]`, { force })).toBe(result)
  })
})

describe('what is no argument is compared as ever', () => {
  test.each<[string, Result]>([
    ['jwt.level == "3"', 'false'],
    ['jwt.level != "3"', 'true'],
    ['"3" in jwt.flags', 'false'],
    [`${A}.force && jwt.level != "3"`, 'true'],
    ['mcp.tool.name == "x" && jwt.name != 1', 'true'],
    ['mcp.id == "1"', 'false'],
    ['cel.bind(mcp, jwt, mcp.level == "3")', 'false'],
    [`[jwt.level].exists(x, x == "3")`, 'false'],
    [`(has(${A}.force) ? jwt.level : 0) == "3"`, 'false'],
  ])('%s is %s', async (expression, result) => {
    expect(await resultOf(expression, { force: true })).toBe(result)
  })
})
