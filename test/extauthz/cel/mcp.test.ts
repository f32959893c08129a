// The variable mcp: its fields, and the mistakes that the translation reports.

import { describe, expect, test } from 'vitest'
import { compileRule } from '../../../src/extauthz/cel/rule.js'
import { compileValue } from '../../../src/extauthz/cel/value.js'
import { atOnce } from '../../../src/kit/turns.js'
import { run } from './helpers.js'

function reads(source: string): readonly string[] | string {
  const rule = atOnce(compileRule(source))
  return rule.ok ? [...(rule.value.reads.roots.get('mcp') ?? [])].sort() : rule.error.message
}

describe('what is read', () => {
  test.each<[string, readonly string[]]>([
    ['mcp.method == "tools/call"', ['method']],
    ['mcp.tool.name == "x"', ['tool.name']],
    ['mcp["tool"]["name"] == "x"', ['tool.name']],
    ['mcp.tool.arguments.path == "x"', ['tool.arguments']],
    ['has(mcp.tool.arguments.path)', ['tool.arguments']],
    ['cel.bind(t, mcp.tool, t.name == "x")', ['tool']],
    ['mcp.prompt.name + mcp.resource.uri == ""', ['prompt.name', 'resource.uri']],
    ['[1].exists(mcp, mcp == 1)', []],
  ])('%s', (source, members) => {
    expect(reads(source)).toEqual(members)
  })
})

describe('a call', () => {
  const mcp = (tool: string) => ({
    method: 'tools/call',
    id: 1n,
    protocolVersion: '',
    toolName: tool,
    toolArguments: () => new Map([['path', tool]]),
    promptName: '',
    resourceUri: '',
  })

  test('has the members that mcp has, read or not', () => {
    expect(run('has(mcp.tool) && has(mcp.tool.name)', { mcp: mcp('a') })).toBe(true)
    expect(run('has(mcp.tool.arguments) && !has(mcp.tool.arguments.x)', { mcp: mcp('a') })).toBe(
      true,
    )
  })

  test('converts its arguments once for a rule, when the rule comes to them', () => {
    let times = 0
    const counted = { ...mcp('a'), toolArguments: () => (times++, new Map([['path', 'a']])) }
    run('mcp.tool.name == "b" && mcp.tool.arguments.path == "a"', { mcp: counted })
    expect(times).toBe(0)
    run('mcp.tool.arguments.path == "b" || mcp.tool.arguments.path == "a"', { mcp: counted })
    expect(times).toBe(1)
  })

  test.each(['has(mcp.tool)', 'default(mcp.tool.name, "a") == "a"'])(
    'that is none is an error: %s',
    (source) => expect(run(source)).toBe('variable_type_mismatch'),
  )
})

describe('mistakes', () => {
  test.each([
    ['mcp.tool.nmae == "x"', 'mcp has no tool.nmae; expected one of method, id'],
    ['mcp.tol.name == "x"', 'mcp has no tol; expected one of method, id'],
    ['mcp.tool.name == 1', 'there is no operation string == int'],
    ['mcp.method', 'the expression gives string; expected bool'],
    ['mpc.method == "x"', 'unknown variable: mpc; expected jwt, request, source, mcp or a'],
    ['mcp.tool == "x"', 'there is no operation mcp.tool == string'],
  ])('%s', (source, message) => {
    expect(reads(source)).toContain(message)
  })

  test('headers of webhooks do not have it', () => {
    const compiled = atOnce(compileValue('mcp.method'))
    expect(compiled.ok ? '' : compiled.error.message).toContain(
      'mcp is available in authorization rules alone',
    )
    const unknown = atOnce(compileValue('prompt'))
    expect(unknown.ok ? '' : unknown.error.message).toContain(
      'expected jwt, request, source, llmRequest or a',
    )
  })
})
