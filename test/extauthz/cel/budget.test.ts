// The cost limit of an evaluation: every operator, macro and function is counted, and a rule over the budget fails.

import { describe, expect, test } from 'vitest'
import { lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { Budget, DEFAULT_BUDGET } from '../../../src/extauthz/cel/budget.js'
import { knowsCost } from '../../../src/extauthz/cel/costs/function-costs.js'
import { ruleEnvironment } from '../../../src/extauthz/cel/environment.js'
import { compileRule } from '../../../src/extauthz/cel/rule.js'
import { compileValue } from '../../../src/extauthz/cel/value.js'
import { atOnce } from '../../../src/kit/turns.js'
import { ATTRIBUTES, json, run } from './helpers.js'

const GROUPS = Array.from({ length: 400 }, (_, i) => `group-${i}`)

/** a and b in no order, so that a pattern of many states comes through many. */
function letters(length: number): string {
  let state = 1
  const next = (): string => {
    state = Math.imul(state, 1103515245) + 12345
    return state & 0x40000000 ? 'a' : 'b'
  }
  return Array.from({ length }, next).join('')
}

/** Values as large as a token can be, each slow for some function. */
const attributes = {
  ...ATTRIBUTES,
  jwt: lazyValue({
    groups: GROUPS,
    text: 'a'.repeat(16_000),
    part: `${'a'.repeat(4000)}b${'a'.repeat(3999)}`,
    objects: GROUPS.map((name) => ({ name })),
    lists: `[${'[],'.repeat(5000)}[]]`,
    members: Object.fromEntries(GROUPS.map((name) => [name, 1])),
    digits: '1'.repeat(400),
    abab: letters(16_000),
  }),
}

const loops = (count: number, body: string): string =>
  Array.from({ length: count }, (_, i) => `jwt.groups.all(g${i}, `).join('') +
  body +
  ')'.repeat(count)

const doubled = (first: string, step: (last: string) => string, last: (name: string) => string) =>
  `cel.bind(a0, ${first}, ` +
  Array.from({ length: 28 }, (_, i) => `cel.bind(a${i + 1}, ${step(`a${i}`)}, `).join('') +
  last('a28') +
  ')'.repeat(29)

describe('beyond the budget', () => {
  test.each([
    ['twelve loops', loops(12, 'true')],
    ['three loops', loops(3, 'true')],
    ['loops that fail on and on', loops(3, 'jwt.nope')],
    ['loops whose failures are caught', loops(3, 'default(jwt.nope, true)')],
    ['loops of optionals', loops(3, 'jwt.?nope.orValue(true)')],
    ['loops behind ||', loops(3, 'jwt.nope || true')],
    ['map', loops(2, 'jwt.groups.map(g, g).size() > 0')],
    ['map with a filter', loops(2, 'jwt.groups.map(g, true, g).size() > 0')],
    ['filter', loops(2, 'jwt.groups.filter(g, true).size() > 0')],
    ['exists', loops(2, '!jwt.groups.exists(g, false)')],
    ['exists_one', loops(2, '!jwt.groups.exists_one(g, false)')],
    ['members of a map', loops(2, 'jwt.members.all(k, true)')],
    ['in a list', loops(2, '!("x" in jwt.groups)')],
    ['an object in a list', loops(2, '!({"name": "x"} in jwt.objects)')],
    ['lists compared', loops(2, 'jwt.groups == jwt.groups.map(g, g)')],
    ['maps compared', loops(2, 'jwt.members == jwt.members || true')],
    ['lists concatenated', loops(2, '(jwt.groups + jwt.groups).size() > 0')],
    ['texts concatenated', loops(2, '(jwt.text + g0) != ""')],
    ['contains', 'jwt.text.contains(jwt.part) || true'],
    ['indexOf', 'jwt.text.indexOf(jwt.part) < 0'],
    ['lastIndexOf', 'jwt.text.lastIndexOf(jwt.part) < 0'],
    ['replace', 'jwt.text.replace("a", jwt.text) != ""'],
    ['replace of nothing', 'jwt.text.replace("", jwt.text) != ""'],
    ['split', loops(1, 'jwt.text.split("").size() > 0')],
    ['join', loops(1, 'jwt.groups.map(g, jwt.text).join(",") != ""')],
    ['trim', loops(2, 'jwt.text.trim() != ""')],
    ['lowerAscii', loops(1, 'jwt.text.lowerAscii() != ""')],
    ['charAt', loops(1, 'jwt.text.charAt(15999) == "a"')],
    ['size of a text', loops(1, 'size(jwt.text) > 0')],
    ['json', loops(1, 'size(json(jwt.lists)) > 0')],
    ['toJson', loops(1, 'toJson(jwt.objects) != ""')],
    ['conversions', loops(2, 'string(bytes(jwt.text)) != ""')],
    ['base64', loops(2, 'base64.encode(jwt.text) != ""')],
    ['dates of a zone', loops(1, 'timestamp(1).getHours("Europe/Berlin") >= 0')],
    [
      'texts of durations',
      loops(2, 'string(duration("0.5s")) != "" && string(duration("1s")) != ""'),
    ],
    ['texts as keys of maps', loops(2, 'size({jwt.text + g0: 1}) > 0')],
    ['has', loops(3, 'has(jwt.sub) || true')],
    ['a pattern of many states', 'jwt.abab.matches("(a|b)*a(a|b){100}[cd]") || true'],
    ['patterns made in a loop', loops(1, 'g0.matches(".{100}" + g0) || true')],
    [
      'a list doubled',
      doubled(
        '[1, 2]',
        (a) => `${a} + ${a}`,
        (a) => `size(${a}) > 0`,
      ),
    ],
    [
      'a text doubled',
      doubled(
        'jwt.text',
        (a) => `${a} + ${a}`,
        (a) => `${a} != ""`,
      ),
    ],
    [
      'bytes doubled',
      doubled(
        'b"abcd"',
        (a) => `${a} + ${a}`,
        (a) => `size(${a}) > 0`,
      ),
    ],
    [
      'a list within itself',
      doubled(
        'jwt.groups',
        (a) => `{"a": ${a}, "b": ${a}}`,
        (a) => `toJson(${a}) == ""`,
      ),
    ],
  ])('%s', (_name, source) => {
    expect(run(source, attributes)).toMatch(
      /^(?:budget|limit)_exceeded$|whatever the request is|nested too deeply/,
    )
  })

  test('a duration of digits alone, which takes for ever elsewhere', () => {
    expect(run('duration(jwt.digits) > duration("1s")', attributes)).toBe('limit_exceeded')
  })

  test('a header expression is left out', () => {
    const value = atOnce(compileValue(`string(${loops(3, 'true')})`))
    expect(value.ok && value.value.evaluate(attributes)).toEqual({
      ok: false,
      error: 'budget_exceeded',
    })
  })

  test('what catches errors does not go on with its loop', () => {
    const budget = new Budget({ steps: 2000, bytes: 1e6 })
    const rule = atOnce(compileRule(`${loops(20, 'true')} || true`))
    if (!rule.ok) throw new Error(rule.error.message)
    expect(rule.value.evaluate(attributes, budget)).toEqual({ ok: false, error: 'budget_exceeded' })
    expect(budget.steps).toBeGreaterThan(-3000)
  })

  test.each([
    ['||', `${loops(20, 'true')} || true`],
    ['exists()', `[1, 2, 3].exists(x, ${loops(20, 'true')}) || true`],
    ['default()', `default(${loops(20, 'true')}, true)`],
  ])('ends at once, whatever catches errors: %s', (_name, source) => {
    const budget = new Budget({ steps: 2000, bytes: 1e6 })
    const rule = atOnce(compileRule(source))
    expect(rule.ok && rule.value.evaluate(attributes, budget)).toEqual({
      ok: false,
      error: 'budget_exceeded',
    })
    expect(budget.steps).toBeGreaterThan(-10)
  })

  test('one budget is for all that share it', () => {
    const rule = atOnce(compileRule('jwt.groups.all(g, g != "x")'))
    if (!rule.ok) throw new Error(rule.error.message)
    const budget = new Budget()
    let done = 0
    while (done < 1000 && rule.value.evaluate(attributes, budget).ok) done++
    expect(done).toBeGreaterThan(10)
    expect(done).toBeLessThan(200)
  })
})

describe('within it', () => {
  test.each([
    'jwt.groups.exists(g, g == "group-399")',
    'jwt.groups.exists(g, g in ["group-1000", "group-399"])',
    `jwt.groups.exists(g, g in [${GROUPS.slice(0, 50)
      .map((name) => `"${name}"`)
      .join(',')}])`,
    'jwt.groups.filter(g, g.startsWith("group-1")).size() == 111',
    'jwt.groups.exists(g, g.matches("^group-(?:39[0-9]|4[0-9]{2})$"))',
    'jwt.text.matches("^a+$")',
    'jwt.text.contains("aaaa")',
    'jwt.members["group-7"] == 1',
    'jwt.groups.join(",").size() > 1000',
    'jwt.groups.all(g, ["group-1", "team-1", "group-"].exists(p, g.startsWith(p)))',
    'jwt.objects.exists(o, o.name == "group-399")',
  ])('%s', (source) => {
    expect(run(source, attributes)).toBe(true)
  })

  test('a thousand rules', () => {
    const budget = new Budget()
    for (let i = 0; i < 1000; i++) {
      const rule = atOnce(
        compileRule(`"group-${i}" == jwt.groups[${i % 400}] || request.method == "POST"`),
      )
      expect(rule.ok && rule.value.evaluate(attributes, budget)).toEqual({ ok: true, value: true })
    }
    expect(budget.steps).toBeLessThan(DEFAULT_BUDGET.steps)
  })
})

describe('what is counted', () => {
  const items = Array.from({ length: 10 }, (_, i) => i)
  const steps = (source: string): number => {
    const budget = new Budget()
    const rule = atOnce(compileRule(source))
    expect(rule.ok && rule.value.evaluate({ jwt: lazyValue({ items, one: 1 }) }, budget).ok).toBe(
      true,
    )
    return DEFAULT_BUDGET.steps - budget.steps
  }

  /** A rule takes 10, and a node one, with one for each name or literal in it. */
  test.each([
    ['true', 11],
    ['jwt.one == 1', 10 + 2 + 2],
    ['jwt.one == 1 && true', 10 + 2 + 2 + 2],
    ['!(jwt.one == 1) || true', 10 + 1 + 2 + 2 + 2],
    ['jwt.one + 1 == 2 ? true : false', 10 + 3 + 2 + 2 + 2],
    ['jwt.items.all(x, true)', 10 + 2 + 2 + 10 * 4],
    ['jwt.items.all(x, x < 10)', 10 + 2 + 2 + 10 * (3 + 3)],
    ['jwt.items.filter(x, x < 10) != []', 10 + 2 + 1 + 2 + 2 + 10 * (2 + 3 + 2)],
    ['jwt.items.map(x, x + 1) != []', 10 + 2 + 1 + 2 + 2 + 10 * (1 + 3)],
    ['default(jwt.nope, true)', 10 + 2 + 2 + 150],
  ])('%s: %d steps', (source, expected) => {
    expect(steps(source)).toBe(expected)
  })
})

describe('known without a request', () => {
  const digits = '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]'
  const nested = Array.from({ length: 12 }, (_, i) => `${digits}.all(d${i}, `).join('')

  test.each([
    ['by itself', `${nested}true${')'.repeat(12)}`, 'column 1'],
    ['behind what is read', `jwt.sub == "a" && ${nested}true${')'.repeat(12)}`, 'column 19'],
    [
      'doubled',
      doubled(
        '[1]',
        (a) => `${a} + ${a}`,
        (a) => `size(${a}) > 0`,
      ),
      'column 1',
    ],
  ])('%s', (_name, source, place) => {
    const rule = atOnce(compileRule(source))
    expect(rule.ok).toBe(false)
    expect(!rule.ok && rule.error.message).toContain(place)
    expect(!rule.ok && rule.error.message).toContain('whatever the request is')
  })

  test('a loop of what the request brings is not', () => {
    expect(atOnce(compileRule(loops(12, 'true'))).ok).toBe(true)
  })
})

describe('patterns', () => {
  const wide = String.raw`(?i)[a-\x{10FFFF}]`

  test('whose classes take long to compile, as they come with a request, spend the budget', () => {
    const jwt = lazyValue({
      wide,
      many: wide.repeat(40),
      ascii: '(?i)[a-z]+@[^a]',
      cased: '(?i)[À-ÿ]',
    })
    expect(run('jwt.wide.matches(jwt.wide)', { jwt })).toBe('budget_exceeded')
    expect(run('jwt.wide.matches(jwt.many)', { jwt })).toBe('budget_exceeded')
    expect(run('"A@b".matches(jwt.ascii)', { jwt })).toBe(true)
    expect(run('"é".matches(jwt.cased)', { jwt })).toBe(true)
  })

  test('that name a class of Unicode are taken where they are written out alone', () => {
    expect(run(String.raw`"é".matches(r"^\p{L}$")`, {})).toBe(true)
    const jwt = lazyValue({ letter: String.raw`^\p{L}$` })
    expect(run('"é".matches(jwt.letter)', { jwt })).toBe('limit_exceeded')
  })

  test.each([wide.repeat(2), String.raw`\pL|`.repeat(50), String.raw`[\pL\PN]`.repeat(25)])(
    'whose classes take longer to compile than a slice: %s',
    (pattern) => {
      const rule = atOnce(compileRule(`jwt.sub.matches(r"${pattern}")`))
      expect(rule.ok ? '' : rule.error.message).toContain('the pattern is too large')
    },
  )

  test.each([
    '.{1000}'.repeat(3),
    '(?:a{30}){30}'.repeat(3),
    '[^a]{1000}{2}',
    '\\p{L}{999}\\pL{999}b{999}',
  ])('of more instructions than we compile: %s', (pattern) => {
    const rule = atOnce(compileRule(`jwt.sub.matches(r"${pattern}")`))
    expect(rule.ok).toBe(false)
  })

  test('that are made of a claim are bounded before they are compiled', () => {
    const jwt = lazyValue(json('{"pattern":"(?:.{1000}){1}.{900}"}'))
    expect(run('"x".matches(jwt.pattern)', { jwt })).toBe('limit_exceeded')
  })
})

test('every function has a cost of its own', () => {
  const names = new Set(ruleEnvironment.getDefinitions().functions.map(({ name }) => name))
  const macros = new Set([
    'all',
    'exists',
    'exists_one',
    'map',
    'filter',
    'bind',
    'has',
    '_as',
    'default',
    'or',
    'orValue',
  ])
  expect([...names].filter((name) => !macros.has(name) && !knowsCost(name))).toEqual([])
  expect(names.size).toBeGreaterThan(50)
})
