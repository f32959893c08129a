// The library keeps a type for each way in which lists and maps lie within each other, for as long as the process lives:
// neither requests nor policies may make it keep ever more of them.

import { describe, expect, test } from 'vitest'
import { lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { compileRule } from '../../../src/extauthz/cel/rule.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { Json } from '../../../src/model/json.js'
import { ATTRIBUTES, run } from './helpers.js'

/** Lists and maps within each other, as the bits of a number say. */
function nested(bits: number, depth: number): Json {
  let value: Json = 1
  for (let i = 0; i < depth; i++) value = (bits >> i) & 1 ? [value] : { a: value }
  return value
}

describe('a value of a request that is nested deeply, where a rule takes anything', () => {
  const x = nested(0x2d5a7, 20)
  const attributes = { ...ATTRIBUTES, jwt: lazyValue({ x, l: [x], no: false, one: 1 }) }

  test.each([
    '!jwt.x',
    '-jwt.x == 1',
    'jwt.x ? true : false',
    'jwt.x || false',
    'jwt.no || jwt.x',
    '!jwt.no && jwt.x',
    'jwt.l.exists(a, a)',
    'jwt.l.all(a, a)',
    'jwt.l.exists_one(a, a)',
    'jwt.l.filter(a, a) == []',
    'jwt.l.map(a, a, 1) == []',
    'jwt.x == jwt.l',
    'size(jwt.x) == 1',
  ])('%s: an error before the library looks at its type', (source) => {
    expect(run(source, attributes)).toBe('limit_exceeded')
  })

  test.each([
    ['jwt.x == null', false],
    ['null == jwt.x', false],
    ['jwt.x != null', true],
    ['jwt.nullclaim == null', true],
    ['jwt.nullclaim != null', false],
  ])('%s is %s', (source, expected) => {
    expect(run(source, { ...attributes, jwt: lazyValue({ x, nullclaim: null }) })).toBe(expected)
  })

  test('an operand that is not a bool and not nested keeps its error', () => {
    expect(run('jwt.one || false', attributes)).toBe('invalid_logical_operand')
    expect(run('jwt.one ? true : false', attributes)).toBe('invalid_condition_type')
  })
})

test.each([
  [4, 4, false],
  [9, 0, false],
  [5, 5, 'limit_exceeded'],
  [8, 8, 'limit_exceeded'],
])('values nested %d and %d deep: the pairs of their types are few', (left, right, expected) => {
  const jwt = lazyValue({ x: nested(0, left), y: nested(1, right) })
  expect(run('jwt.x == jwt.y', { ...ATTRIBUTES, jwt })).toBe(expected)
})

describe('an expression whose lists and maps are nested deeply', () => {
  test.each([
    ['literals', '[[[[[1]]]]].size() == 1'],
    ['maps', '{"a": {"b": {"c": {"d": {"e": 1}}}}}.size() == 1'],
    ['computed keys', '[[{jwt.sub: [1]}]].size() == 1'],
    ['names', 'cel.bind(a, [[1]], cel.bind(b, [[a]], [b].size() == 1))'],
    ['loops', '[1].map(a, [1].map(b, [1].map(c, [[b]]))).size() == 1'],
    ['loops over what is nested', '[[[[1]]]].map(a, [a]).map(a, [a]).size() == 1'],
    ['optionals', 'optional.of(optional.of([[[1]]])).hasValue()'],
  ])('%s: it is refused', (_name, source) => {
    const rule = atOnce(compileRule(source))
    expect(rule.ok ? '' : rule.error.message).toContain('nested too deeply')
  })

  test.each([
    '[[[[1]]]].size() == 1',
    '{"a": {"b": {"c": ["d"]}}}.a.b.c[0] == "d"',
    '{jwt.sub: {"b": 1}}["alice"].b == 1',
    'cel.bind(a, [[1]], [[a]].size() == 1)',
    '[1].map(a, [[a]])[0][0][0] == 1',
    'size([[[[1]]]]) + size([1]) == 2',
    '[size([[[[1]]]])] == [1]',
    'jwt.?groups.orValue([]).size() == 2',
    '["a,b"].map(t, t.split(","))[0][1] == "b"',
  ])('%s is taken', (source) => {
    expect(run(source)).toBe(true)
  })
})

describe('a key of a map', () => {
  test.each([
    'size({jwt.groups: 1}) == 1',
    'size({jwt.nullclaim: 1}) == 1',
    'size({timestamp(1): 1}) == 1',
    'size({duration("1s"): 1}) == 1',
    'size({optional.of(1): 1}) == 1',
    'size({bytes("a"): 1}) == 1',
  ])('%s is an error', (source) => {
    expect(run(source)).toBe('invalid_map_key')
  })

  test.each(['{null: 1}', '{b"a": 1}'])('%s is refused', (source) => {
    expect(run(`size(${source}) == 1`)).toContain('a map cannot have a key of this type')
  })

  test('of a list within itself takes no time', () => {
    const doubled = Array.from({ length: 25 }, (_, i) => `cel.bind(a${i + 1}, [a${i}, a${i}], `)
    const source = `cel.bind(a0, jwt.groups, ${doubled.join('')}size({a25[0]: 1}) > 0${')'.repeat(26)}`
    expect(run(source)).toContain('nested too deeply')
    expect(run('size({[jwt.groups, jwt.groups]: 1}) > 0')).toBe('invalid_map_key')
  })

  test.each(['"alice"', 'jwt.sub', '1', '1u', 'true', 'jwt.level'])('%s is one', (key) => {
    expect(run(`size({${key}: 1}) == 1`)).toBe(true)
  })
})
