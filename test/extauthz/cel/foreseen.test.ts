// What is known of a rule before anybody asks: its result for initialize, and values that stand as conditions.

import { describe, expect, test } from 'vitest'
import { bareConditions, foresee } from '../../../src/extauthz/cel/foreseen.js'

const INITIALIZE = {
  method: 'initialize',
  id: 1,
  protocolVersion: '2025-06-18',
  toolName: '',
  promptName: '',
  resourceUri: '',
  toolArguments: () => new Map<string, never>(),
}

describe('a rule and the message initialize', () => {
  test.each([
    ['mcp.tool.name in ["a", "b"]', 'false'],
    ['(mcp.tool.name in ["a", "b"])', 'false'],
    ['mcp.method != "tools/call" || mcp.tool.name == "a"', 'true'],
    ['mcp.method == "initialize" ? true : false', 'true'],
    ['mcp.tool.name == "a" && "x" in jwt.groups', 'false'],
    ['"x" in jwt.groups && mcp.tool.name == "a"', 'false'],
    ['mcp.method == "initialize" && "x" in jwt.groups', 'unknown'],
    ['mcp.tool.name == "a" || "x" in jwt.groups', 'unknown'],
    ['mcp.tool.arguments.path == "a"', 'error'],
    ['!(mcp.tool.arguments.path == "a")', 'error'],
    ['!(mcp.tool.name == "a")', 'true'],
    ['mcp.tool.arguments.path == "a" || mcp.method == "initialize"', 'true'],
    ['mcp.tool.arguments.path == "a" && mcp.method == "tools/call"', 'false'],
    ['mcp.tool.name in jwt.tools', 'unknown'],
    ['(mcp.tool.name) == "a"', 'false'],
    ['(mcp.tool.name) == "a" && "x" in jwt.groups', 'unknown'],
    ['"x" in jwt.groups', 'unknown'],
    ['true', 'true'],
  ])('%s: %s', (source, expected) => {
    expect(foresee(source, INITIALIZE)).toBe(expected)
  })
})

describe('values that stand as conditions', () => {
  test.each([
    ['jwt.groups', ['jwt.groups']],
    ['jwt["groups"]', ['jwt["groups"]']],
    ['jwt.a && !jwt.b || (jwt.c)', ['jwt.a', 'jwt.b', 'jwt.c']],
    ['jwt.a ? jwt.b == 1 : false', ['jwt.a']],
    ['jwt', ['jwt']],
    ['jwt.groups.exists(group, group == "a")', []],
    ['"a" in jwt.groups', []],
    ['jwt.admin == true', []],
    ['has(jwt.admin)', []],
    ['has(jwt.admin) && jwt.admin', []],
    ['jwt.email_verified', []],
    ['true', []],
  ])('%s: %j', (source, expected) => {
    expect(bareConditions(source)).toEqual(expected)
  })
})
