// Static detection of what an expression reads, which decides what Envoy sends and what is converted.

import { describe, expect, test } from 'vitest'
import { compileRule } from '../../../src/extauthz/cel/rule.js'
import { compileValue } from '../../../src/extauthz/cel/value.js'
import { atOnce } from '../../../src/kit/turns.js'

function roots(source: string): Record<string, string[]> {
  const compiled = atOnce(compileValue(source))
  if (!compiled.ok) throw new Error(compiled.error.message)
  return Object.fromEntries(
    [...compiled.value.reads.roots].map(([root, members]) => [root, [...members].sort()]),
  )
}

function headers(source: string): string | string[] {
  const compiled = atOnce(compileRule(source))
  if (!compiled.ok) throw new Error(compiled.error.message)
  const names = compiled.value.reads.requestHeaders
  return names === 'all' ? names : [...names].sort()
}

describe('variables and their members', () => {
  test.each<[string, Record<string, string[]>]>([
    [
      'jwt.tenants["t1"].roles.exists(r, r == request.headers["x-team"])',
      { jwt: ['tenants'], request: ['headers'] },
    ],
    ['jwt.groups.exists(llmRequest, llmRequest == "x")', { jwt: ['groups'] }],
    ['jwt.groups.map(jwt, jwt + request.path)[0] == "a"', { jwt: ['groups'], request: ['path'] }],
    ['cel.bind(llmRequest, jwt.sub, llmRequest == "a")', { jwt: ['sub'] }],
    ['cel.bind(x, jwt.sub, x == llmRequest.model)', { jwt: ['sub'], llmRequest: ['model'] }],
    ['jwt["sub"] == "a"', { jwt: ['sub'] }],
    ['jwt.?sub.orValue("x")', { jwt: ['sub'] }],
    ['jwt[?"sub"].orValue("x")', { jwt: ['sub'] }],
    ['jwt == null', { jwt: ['*'] }],
    ['jwt[request.path] == 1', { jwt: ['*'], request: ['path'] }],
    ['default(llmRequest.model, "x")', { llmRequest: ['model'] }],
    ['has(llmRequest.messages)', { llmRequest: ['messages'] }],
    ['"x" in jwt', { jwt: ['*'] }],
    ['toJson(request)', { request: ['*'] }],
    ['jwt.a.b.c == jwt.d', { jwt: ['a', 'd'] }],
    ['true', {}],
    ['jwt.groups.filter(jwt, jwt != "").exists(x, x == jwt.sub)', { jwt: ['groups', 'sub'] }],
  ])('%s', (source, expected) => {
    expect(roots(source)).toEqual(expected)
  })
})

describe('request headers', () => {
  test.each<[string, string | string[]]>([
    ['request.headers["x-team"] == "a" && request.headers.host == "b"', ['host', 'x-team']],
    ['"x-team" in request.headers', ['x-team']],
    ['has(request.headers.cookie)', ['cookie']],
    ['request.headers[?"x-a"].orValue("") == ""', ['x-a']],
    ['request["headers"]["x-a"] == ""', ['x-a']],
    ['default(request.headers["x-a"], "") == ""', ['x-a']],
    ['request.headers[jwt.sub] == "a"', 'all'],
    ['request.headers.exists(h, h == "a")', 'all'],
    ['size(request.headers) == 1', 'all'],
    ['jwt.sub in request.headers', 'all'],
    ['request == jwt', 'all'],
    ['request["headers"] == {}', 'all'],
    ['jwt.headers["x"] == "a"', []],
    ['jwt.list.exists(request, request.headers["x"] == "a")', []],
    ['request.path == "/"', []],
  ])('%s', (source, expected) => {
    expect(headers(source)).toEqual(expected)
  })
})
