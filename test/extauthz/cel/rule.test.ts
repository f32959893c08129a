// Authorization rules: which evaluate to true, to false or to an error, and which are rejected before they run.

import { RE2JS } from '@bufbuild/re2'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { compileRule } from '../../../src/extauthz/cel/rule.js'
import { atOnce } from '../../../src/kit/turns.js'
import { ATTRIBUTES, json, run, withoutToken } from './helpers.js'

describe('true of the request', () => {
  test.each([
    '"mcp-users" in jwt.groups',
    'jwt.tenants["t1"].roles.exists(r, r == "admin")',
    'request.headers["x-team"] == "eng"',
    'has(jwt.email) && jwt.email.endsWith("@x.org")',
    'jwt.sub == "alice"',
    // members of Object as claims
    'jwt.constructor == "boom"',
    'jwt["constructor"] == "boom"',
    'has(jwt.hasOwnProperty)',
    '"toString" in jwt',
    '!has(jwt.valueOf)',
    '!("valueOf" in jwt)',
    // and where a map that the rule writes out is compared with one that has them
    '!(json("{\\"__proto__\\": {}}") == {"role": "admin"}) && !([json("{\\"__proto__\\": {}}")] == [{"a": 1}])',
    '!(json("{\\"__proto__\\": {}}") in [{"role": "admin"}])',
    'dyn({"__proto_" + "_": {}}) != dyn({"a": 1}) && {"__proto_" + "_": 1}.size() == 1',
    '{"a": {"b": 1}} == json("{\\"a\\": {\\"b\\": 1}}") && toJson({"a": {}}) == "{\\"a\\":{}}"',
    '{"a": 1}.all(key, key == "a") && {"a": 1}.?b.orValue(2) == 2 && type({}) == map',
    // numbers
    'jwt.level + 1 == 4',
    'jwt.level / 2 == 1',
    'jwt.level % 2 == 1',
    'jwt.level in [1, 2, 3]',
    'jwt.level == 3.0',
    'jwt.ratio == 1.5',
    'type(jwt.level) == int && type(jwt.ratio) == double && type(jwt.big) == double',
    'timestamp(jwt.exp) > timestamp("2020-01-01T00:00:00Z")',
    // null
    'has(jwt.nullclaim)',
    'jwt.nullclaim == null',
    // has() over any base
    'has(jwt.tenants["t1"].roles)',
    '!has(jwt.tenants["t1"].nope)',
    '!has(jwt.sub.x)',
    '!has(jwt.groups.length)',
    'has({"a": 1}.a) && !has({"a": 1}.toString)',
    'has((jwt.tenants["t1"]) // a.b)\n . roles) && !has(jwt.tenants["t1"].nope)',
    // RE2
    'jwt.sub.matches("^al.*e$")',
    'matches(jwt.sub, "^al")',
    'jwt.groups.exists(g, g.matches("^mcp-"))',
    'jwt.sub // the subject, not ")."\n  . matches ("^a")',
    '(("al") + ("ice")).matches("^alice$")',
    'jwt.sub.matches("(?i)ALICE")',
    'jwt.sub.matches("") && !jwt.sub.startsWith("b") && jwt.groups.size() == 2',
    '"call matches(x) has(y)" == "call matches(x) has(y)"',
    // ASCII only
    '"TacoCÆt".lowerAscii() == "tacocÆt"',
    '"tacocæt".upperAscii() == "TACOCæT"',
    // what users bring along
    'base64.encode("hello") == "aGVsbG8="',
    'base64Encode("hello") == "aGVsbG8="',
    'string(base64.decode("aGVsbG8=")) == "hello"',
    'string(base64Decode("aGVsbG8")) == "hello"',
    'json("{\\"a\\":1}").a + 1 == 2',
    'json(b"[1]")[0] == 1',
    'toJson({"a": [1, true, null, "x", 1.5]}) == "{\\"a\\":[1,true,null,\\"x\\",1.5]}"',
    'cidr("10.0.0.0/8").containsIP(source.address)',
    '!cidr("192.168.0.0/16").containsIP(source.address)',
    'cidr("fd00::/8").containsIP("fd12::1")',
    '!cidr("fd00::/8").containsIP("10.0.0.1")',
    'isIP("10.0.0.1") && isIP("::1") && !isIP("10.0.0")',
    'default(jwt.nope, "x") == "x"',
    'default(jwt.nullclaim, "x") == "x"',
    'default(jwt.nope.deep, 1) == 1',
    'default(jwt.sub, "x") == "alice"',
    '"a1b1".replace("1", "2") == "a2b2"',
    '"a1b1".replace("1", "2", 1) == "a2b1"',
    '"a1b1".replace("1", "2", 0) == "a1b1"',
    '"v1/x".stripPrefix("v1/") == "x" && "x.js".stripSuffix(".js") == "x"',
    '"x".stripPrefix("y") == "x" && "x".stripSuffix("") == "x"',
    '"héé".charAt(1) == "é" && "abc".charAt(3) == ""',
    'jwt.?nope.orValue("z") == "z"',
    'jwt.?sub.orValue("z") == "alice"',
    'cel.bind(g, jwt.groups, "eng" in g && size(g) == 2)',
    'string(timestamp("2026-01-01T00:00:00Z")) == "2026-01-01T00:00:00Z"',
    'string(duration("1h30m0.5s")) == "5400.5s" && string(duration("-1.25s")) == "-1.25s"',
    'string(duration("-5ms")) == "-0.005s" && string(duration("0s")) == "0s"',
    'int(timestamp("1970-01-01T00:01:00Z")) == 60 && int(7u) == 7',
    // the request
    'request.method == "POST" && request.path == "/mcp/x" && request.pathAndQuery == "/mcp/x?a=1"',
    'request.host == "gw.example" && request.scheme == "https" && request.version == "HTTP/1.1"',
    'request.uri == "https://gw.example/mcp/x?a=1"',
    'request.headers["x-two"] == ["1", "2"]',
    '!("x-none" in request.headers)',
    'source.port == 4711',
    // an error on one side is no error when the other decides
    'jwt.nope == "x" || jwt.sub == "alice"',
    'jwt.groups.exists(g, g == 1 || g == "eng")',
    'size("é") == 1',
  ])('%s', (source) => {
    expect(run(source)).toBe(true)
  })
})

describe('an error, never true', () => {
  test.each([
    ['jwt.nope == "x"', 'no_such_key'],
    ['jwt.__defineGetter__ == "x"', 'no_such_key'],
    ['jwt["valueOf"] == 1', 'no_such_key'],
    ['has(jwt.nope.deeper)', 'no_such_key'],
    ['has(jwt.tenants["zz"].roles)', 'no_such_key'],
    ['request.headers["x-none"] == ""', 'no_such_key'],
    ['toJson(request.headers["x-two"]) != "x"', 'repeated_header'],
    ['"1,2" in {request.headers["x-two"]: true}', 'repeated_header'],
    ['jwt.sub', 'not_bool'],
    ['jwt.groups', 'not_bool'],
    ['!jwt.sub', 'no_such_overload'],
    ['!jwt.nullclaim', 'no_such_overload'],
    ['jwt.sub ? true : false', 'invalid_condition_type'],
    ['"a" in jwt.sub', 'no_such_overload'],
    ['jwt.level > "2"', 'no_such_overload'],
    ['jwt.level / 0 == 1', 'division_by_zero'],
    ['default(jwt.level / 0, 1) == 1', 'division_by_zero'],
    ['jwt.sub.matches(jwt.email + "(")', 'evaluation_error'],
    ['json(jwt.sub).a == 1', 'evaluation_error'],
    ['cidr(jwt.sub).containsIP("10.0.0.1")', 'evaluation_error'],
    ['cidr("10.0.0.0/8").containsIP(jwt.sub)', 'evaluation_error'],
    ['base64.decode("!") == b""', 'evaluation_error'],
    ['jwt.sub.charAt(99) == ""', 'evaluation_error'],
    ['jwt.level.all(x, true)', 'invalid_comprehension_range'],
    ['dyn(timestamp(jwt.exp)).all(x, false)', 'invalid_comprehension_range'],
    ['{1: "a"}.all(key, key == 1)', 'variable_type_mismatch'],
    ['default(jwt.nope.stripPrefix(jwt.level / 0), "x") == "x"', 'division_by_zero'],
  ])('%s: %s', (source, code) => {
    expect(run(source)).toBe(code)
  })

  test('and the error does not quote the values', () => {
    const jwt = lazyValue(json('{"sub":"secret-subject"}'))
    const rule = atOnce(compileRule('int(jwt.sub) == 1 || jwt[jwt.sub] == "x"'))
    if (!rule.ok) throw new Error(rule.error.message)
    expect(JSON.stringify(rule.value.evaluate({ jwt }))).not.toContain('secret-subject')
  })
})

describe('without a token', () => {
  test.each([
    ['jwt == null', true],
    ['has(jwt.sub)', false],
    ['jwt.sub == "a"', 'no_such_key'],
    ['jwt.sub != "a"', 'no_such_key'],
    ['default(jwt.sub, "x") == "x"', true],
    ['request.method == "POST"', true],
  ])('%s: %s', (source, expected) => {
    expect(run(source, withoutToken)).toBe(expected)
  })
})

describe('refused at load', () => {
  test.each([
    ['jwtt.sub == "a"', 'line 1, column 1', 'jwtt'],
    ['jwt.sub.startWith("a")', 'column 1', 'startWith'],
    ['startsWith(jwt.sub)', 'column 1', 'startsWith'],
    ['has(jwt)', 'column 1', 'has()'],
    ['jwt.groups.exists(1, true)', 'column 19', 'variable'],
    ['"a" + 1 == "a1"', 'column 1', 'string + int'],
    ['1 == "a"', 'column 1', 'int == string'],
    ['has(jwt.groups[0].x) == 1', 'column 1', 'bool == int'],
    ['has(jwtt["a"].b)', 'column 5', 'jwtt'],
    ['jwt.level > "3" && 3 > "x"', 'column 20', 'int > string'],
    ['&& true', 'column 1', 'unexpected token: "&&"'],
    ['jwt.a and true', 'column 7', 'unexpected "and"; expected "&&"'],
    ['jwt.a == "x" or true', 'column 14', 'unexpected "or"; expected "||"'],
    ['jwt.a = "x"', 'column 7', 'unexpected "="; expected "=="'],
    ['jwt.a contains "x"', 'column 7', 'unexpected "contains"; expected an operator'],
    ['jwt.a "x"', 'column 7', 'unexpected string; expected an operator'],
    ['jwt.a.b.c(', 'column 11', 'the end of the expression'],
    ['jwt.sub == "a', 'column 12', 'unterminated'],
    ['', 'column 1', 'the end of the expression'],
    ['"a" in "banana"', 'column 1', 'string in string'],
    ['size(jwt.groups)', 'column 1', 'expected bool'],
    ['"true"', 'column 1', 'expected bool'],
    ['jwt.sub.matches("(")', 'column 17', 'RE2'],
    ['jwt.sub.matches("(?=x)")', 'column 17', 'RE2'],
    ['matches(jwt.sub, "(?=x)")', 'column 18', 'RE2'],
    ['llmRequest.model == "x"', 'column 1', 'not available in authorization rules'],
    ['has(llmRequest.model)', 'column 1', 'not available in authorization rules'],
    ['request.pth == "x"', 'column 1', 'expected one of method, uri'],
    ['request["body"] == "x"', 'column 1', 'request has no body'],
    ['source.adress == "x"', 'column 1', 'expected one of address, port'],
    ['request.headers["X-Team"] == "x"', 'column 1', 'expected "x-team"'],
    ['"X-Team" in request.headers', 'column 1', 'expected "x-team"'],
    ['true && \n  jwtt.sub == "a"', 'line 2, column 3', 'jwtt'],
    ['{"__proto__": true}.size() == 1', 'column 2', '__proto__'],
    ['_as(jwt.sub)', 'column 1', '_as'],
    ['jwt.sub._atches("x")', 'column 1', '_atches'],
    ...['url', 'form', 'sha256', 'md5', 'uuid', 'random', 'flatten', 'fail', 'variables'].map(
      (name) => [`${name}("x") == "x"`, 'column 1', name],
    ),
    ['url.encode("x") == "x"', 'column 1', 'url'],
    ['math.greatest(1, 2) == 2', 'column 1', 'math'],
    ['sha256.encode("x") == "x"', 'column 1', 'sha256'],
  ])('%s', (source, position, what) => {
    const problem = run(source)
    expect(problem).toContain('load: ')
    expect(problem).toContain(position)
    expect(problem).toContain(what)
  })

  test('with the place of the fault behind calls of has()', () => {
    const source = 'has(jwt["a"].b) && jwt.sub.matches("a") && jwt.sub.lowerAscii() == 1u + 1'
    const rule = atOnce(compileRule(source))
    expect(rule.ok ? undefined : source.slice(rule.error.start, rule.error.end)).toBe('1u + 1')
  })

  test.each([
    '"a".matches(1)',
    'has(jwt.sub, jwt.sub)',
    'jwt.sub.lowerAscii(1) == "a"',
    '"a".upperAscii() == 1',
    'base64.encode(1) == "a"',
    'base64 == 1',
    'default(1) == 1',
  ])('without a known name: %s', (source) => {
    const problem = run(source)
    expect(problem).toContain('load: ')
    expect(problem).not.toMatch(/\b_as\b|_atches|_owerAscii|_pperAscii|Namespace|CelError|dyn</)
  })

  test.each([
    'request.headers["x"] == "pass"s3cret"',
    "request.headers['x'] == 'pass's3cret'",
    'request.headers["x"] == "\\Us3cret12"',
    'request.headers["x"] == "\\us3cret"',
    'request.headers["x"] == "\\xs3cret"',
    'jwt.level == 48151600000000000000000000u',
    `jwt.ratio == 481516${'0'.repeat(400)}.5`,
    'size({b"0": 1}) == 1',
    'jwt.sub.matches("s3cret(")',
    'jwt.a == "x" "s3cret"',
    'jwt.a == "x" 481516',
  ])('without a part of a literal: %s', (source) => {
    const problem = run(source)
    expect(problem).toMatch(/^load: line 1, column \d+: /)
    expect(problem).not.toMatch(/s3|4815|key 48/)
  })
})

describe('limits', () => {
  const big = 'x'.repeat(16_384 - 4)
  test('16,384 characters are read, one more is not', () => {
    expect(run(`"${big}" == "${big}"`.slice(0, 5))).toContain('load:')
    expect(run(`true //${'x'.repeat(16_384 - 7)}`)).toBe(true)
    expect(run(`true //${'x'.repeat(16_384 - 6)}`)).toContain('at most 16384')
  })

  test.each([
    ['parentheses', '('.repeat(100) + 'true' + ')'.repeat(100)],
    ['lists', '['.repeat(100) + ']'.repeat(100) + ' == []'],
    ['negations', '!'.repeat(16_000) + 'true'],
    ['a chain of &&', 'true&&'.repeat(2700) + 'true'],
    ['a chain of +', '1+'.repeat(8000) + '1 == 1'],
    ['ternaries', 'true?true:'.repeat(1600) + 'true'],
    ['a list of 1001', `1 in [${'1,'.repeat(1000)}1]`],
    ['a map of 201', `{${Array.from({ length: 201 }, (_, i) => `"${i}":1`).join(',')}} == {}`],
    ['members', 'jwt' + '.a'.repeat(8000) + ' == 1'],
  ])('%s are refused, not a crash', (_name, source) => {
    expect(run(source)).toContain('load: ')
  })

  test('what is as deep as allowed still runs on a request', () => {
    expect(run('(('.repeat(30) + 'true' + '))'.repeat(30))).toBe(true)
  })

  test('claims nested too deeply are an error of the rules that read them, of no other', () => {
    const jwt = lazyValue(json(`{"deep":${'['.repeat(500)}${']'.repeat(500)},"sub":"a"}`))
    expect(run('jwt.deep == "a"', { ...ATTRIBUTES, jwt })).toBe('limit_exceeded')
    expect(run('"sub" in jwt', { ...ATTRIBUTES, jwt })).toBe('limit_exceeded')
    expect(run('jwt.sub == "a"', { ...ATTRIBUTES, jwt })).toBe(true)
    expect(run('request.method == "POST"', { ...ATTRIBUTES, jwt })).toBe(true)
  })

  test('a pattern that takes for ever elsewhere is done at once', () => {
    const jwt = lazyValue({ sub: `${'a'.repeat(12_000)}b` })
    expect(run('jwt.sub.matches("^(a+)+$")', { ...ATTRIBUTES, jwt })).toBe(false)
  })

  test('a pattern from the request has a limit of its own', () => {
    const jwt = lazyValue({ sub: 'a'.repeat(5000) })
    expect(run('"x".matches(jwt.sub)', { ...ATTRIBUTES, jwt })).toBe('limit_exceeded')
  })

  test('a long pattern that is written out holds, however many others there are', () => {
    const team = Array.from({ length: 120 }, (_, i) => `member-${i}`).join('|')
    const rules = [`jwt.sub.matches("^(${team})$")`, `matches(jwt.sub, "^(?:${team})$")`]
    const compiled = rules.map((source) => atOnce(compileRule(source)))
    for (let i = 0; i < 600; i++) atOnce(compileRule(`jwt.sub.matches("^other-${i}$")`))
    const jwt = lazyValue({ sub: 'member-7' })
    for (const rule of compiled)
      expect(rule.ok && rule.value.evaluate({ jwt })).toEqual({ ok: true, value: true })
  })
})

describe('written-out patterns', () => {
  const anyOf = (name: string, count: number, size: number): string =>
    Array.from({ length: count }, (_, i) => `"b".matches("a{${size}}${name}${i}")`).join(' || ')

  test('are compiled before any request, however many other rules have some', () => {
    const rules = ['one', 'two', 'three'].map((name) => atOnce(compileRule(anyOf(name, 200, 12))))
    const compile = vi.spyOn(RE2JS, 'compile')
    onTestFinished(() => compile.mockRestore())
    for (const rule of [...rules, ...rules])
      expect(rule.ok && rule.value.evaluate({})).toEqual({ ok: true, value: false })
    expect(compile).not.toHaveBeenCalled()
  })

  test('are limited together', () => {
    const compile = vi.spyOn(RE2JS, 'compile')
    onTestFinished(() => compile.mockRestore())
    const rule = atOnce(compileRule(anyOf('many', 400, 900)))
    expect(!rule.ok && rule.error.message).toMatch(
      /^line 1, column \d+: the patterns are too large/,
    )
    expect(compile.mock.calls.length).toBeLessThan(20)
    const classes = atOnce(
      compileRule(Array.from({ length: 30 }, (_, i) => `"b".matches(r"\\pL${i}")`).join(' || ')),
    )
    expect(!classes.ok && classes.error.message).toContain('the patterns are too large')
  })

  test('that are the same count once', () => {
    const same = Array.from({ length: 40 }, () => '"b".matches("a{900}")').join(' || ')
    expect(atOnce(compileRule(same)).ok).toBe(true)
  })
})

describe('what is converted', () => {
  test('only the variables that the rule reads', () => {
    let asked = 0
    const jwt = { json: {}, celValue: () => (asked++, new Map()) }
    run('request.method == "POST"', { ...ATTRIBUTES, jwt })
    expect(asked).toBe(0)
    run('has(jwt.x)', { ...ATTRIBUTES, jwt })
    expect(asked).toBe(1)
  })

  test('once for all rules', () => {
    const jwt = lazyValue(json('{"sub":"a"}'))
    expect(jwt.celValue()).toBe(jwt.celValue())
  })

  test('only the claims that rules read, whatever they read before', () => {
    const jwt = lazyValue(json('{"sub":"a","groups":["eng"],"toString":"b","__proto__":"c"}'))
    const holds = (source: string) => run(source, { ...ATTRIBUTES, jwt })
    for (let times = 0; times < 2; times++) {
      expect(holds('jwt.sub == "a" && !has(jwt.groupz) && !has(jwt.constructor)')).toBe(true)
      expect(holds('jwt.groups == ["eng"] && has(jwt.sub)')).toBe(true)
      expect(holds('jwt["toString"] == "b" && jwt["__proto__"] == "c"')).toBe(true)
      expect(holds('jwt.size() == 4 && jwt.all(name, name in jwt)')).toBe(true)
    }
  })

  test('and let go of after the run', () => {
    const rule = atOnce(compileRule('jwt.groups.exists(g, g == "eng")'))
    if (!rule.ok) throw new Error(rule.error.message)
    expect(rule.value.evaluate(ATTRIBUTES)).toEqual({ ok: true, value: true })
    expect(rule.value.evaluate({})).toEqual({ ok: false, error: 'no_such_key' })
    expect(rule.value.evaluate(ATTRIBUTES)).toEqual({ ok: true, value: true })
  })

  test('no result is a promise', () => {
    for (const source of [
      'jwt.sub == "alice"',
      'jwt.groups.map(g, g).exists(g, true)',
      'cel.bind(x, 1, x == 1)',
    ])
      expect(typeof run(source)).toBe('boolean')
  })
})
