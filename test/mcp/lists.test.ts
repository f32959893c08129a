// Finds the lists in the answer to a batch in time proportional to the batch.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { readJsonText } from '../../src/json/json-text.js'
import { type AskedLists, type FoundList, listsIn } from '../../src/mcp/lists.js'

afterEach(() => vi.restoreAllMocks())

function found(answer: unknown, asked: AskedLists): readonly FoundList[] {
  const text = JSON.stringify(answer)
  const json = readJsonText(text)
  if (!json.ok) throw new Error(json.error)
  return listsIn(json.value.root, text, asked)
}

const namesIn = (lists: readonly FoundList[]): string[][] =>
  lists.map(({ items }) => items.map(({ call }) => call.toolName + call.promptName))

const tools = (id: unknown, ...names: readonly string[]): object => ({
  jsonrpc: '2.0',
  id,
  result: { tools: names.map((name) => ({ name })) },
})

describe('answers to a batch', () => {
  const BOTH: AskedLists = [
    { id: '1', method: 'tools/list' },
    { id: '"1"', method: 'prompts/list' },
  ]

  test('are matched by their ids, and a number may come back as a string', () => {
    const asked: AskedLists = [
      { id: '1', method: 'tools/list' },
      { id: '"b"', method: 'prompts/list' },
    ]
    const answers = [tools(1, 'a'), tools('1', 'b'), tools(' 1.0', 'c'), tools(2, 'd')]
    expect(namesIn(found([...answers, tools('b', 'e'), tools('', 'f')], asked))).toEqual([
      ...[['a'], ['b'], ['c']],
    ])
    expect(namesIn(found(tools(1, 'a'), [{ id: '"1"', method: 'tools/list' }]))).toEqual([['a']])
  })

  test('with one id for several questions hold a list once', () => {
    const asked = [...BOTH, ...BOTH, { id: '1.0', method: 'prompts/list' }]
    expect(namesIn(found([tools(1, 'a')], asked))).toEqual([['a']])
  })

  test('with an unknown id of any length hold none', () => {
    expect(found(tools('1'.repeat(1 << 20), 'a'), BOTH)).toEqual([])
    expect(found(tools(null, 'a'), BOTH)).toEqual([])
  })

  test('cost one look at each id', () => {
    const ids = Array.from({ length: 2000 }, (_, id) => id)
    const answers = ids.map((id) => tools(id, 'a'))
    const parsed = vi.spyOn(JSON, 'parse')
    const lists = found(
      answers,
      ids.map((id) => ({ id: String(id), method: 'tools/list' })),
    )
    expect(lists).toHaveLength(2000)
    expect(parsed.mock.calls.length).toBeLessThanOrEqual(4000)
  })
})
