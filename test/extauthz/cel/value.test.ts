// Expressions that become header values: text where a conversion exists, otherwise an error.

import { describe, expect, test } from 'vitest'
import { lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { compileValue } from '../../../src/extauthz/cel/value.js'
import { atOnce } from '../../../src/kit/turns.js'
import { ATTRIBUTES, json, withoutToken } from './helpers.js'

const llmRequest = lazyValue(json('{"model":"gpt-4o","stream":true,"n":2}'))

function value(source: string, attributes = { ...ATTRIBUTES, llmRequest }): string {
  const compiled = atOnce(compileValue(source))
  if (!compiled.ok) return `load: ${compiled.error.message}`
  const result = compiled.value.evaluate(attributes)
  return result.ok ? result.value : `error: ${result.error}`
}

describe('text', () => {
  test.each([
    ['jwt.sub', 'alice'],
    ['"/guard"', '/guard'],
    ['llmRequest.model', 'gpt-4o'],
    ['llmRequest.stream', 'true'],
    ['jwt.level', '3'],
    ['jwt.ratio', '1.5'],
    ['1 + 1', '2'],
    ['7u', '7'],
    ['jwt.admin', 'true'],
    ['b"abc"', 'abc'],
    ['request.headers["x-team"] + "-1"', 'eng-1'],
    ['default(jwt.nope, "none")', 'none'],
    ['jwt.groups.join(",")', 'mcp-users,eng'],
  ])('%s', (source, expected) => {
    expect(value(source)).toBe(expected)
  })
})

describe('no text', () => {
  test.each([
    ['jwt.groups', 'error: not_text'],
    ['jwt.nullclaim', 'error: not_text'],
    ['jwt', 'error: not_text'],
    ['dyn({"value" + "Of": 1})', 'error: not_text'],
    ['jwt.nope', 'error: no_such_key'],
    ['b"\\xff"', 'error: not_text'],
    ['double("inf")', 'error: not_text'],
  ])('%s', (source, expected) => {
    expect(value(source)).toBe(expected)
  })

  test('without a token or a body', () => {
    expect(value('jwt.sub', { ...withoutToken, llmRequest })).toBe('error: no_such_key')
    expect(value('llmRequest.model', ATTRIBUTES as never)).toBe('error: no_such_key')
  })
})

test.each([
  '[1]',
  '{"a": 1}',
  'timestamp("2026-01-01T00:00:00Z")',
  'null',
  'jwt.?sub',
  'nope.x',
  'cidr("10.0.0.0/8")',
])('refused at load: %s', (source) => {
  expect(value(source)).toContain('load: line 1, column 1')
})
