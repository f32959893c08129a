// Finds the lists in the answers to a request, whatever ids they have.

import { describe, expect, test } from 'vitest'
import { type AskedLists, type FoundList, listsIn } from '../../../src/extauthz/mcp/lists.js'
import { readJsonText } from '../../../src/kit/json/json-text.js'

function found(answer: unknown, asked: AskedLists): readonly FoundList[] {
  const json = readJsonText(JSON.stringify(answer))
  if (!json.ok) throw new Error(json.error)
  return listsIn(json.value.root, asked)
}

const namesIn = (lists: readonly FoundList[]): string[][] =>
  lists.map(({ items }) => items.map(({ call }) => call.toolName + call.promptName))

const answer = (id: unknown, member: string, ...names: readonly string[]): object => ({
  jsonrpc: '2.0',
  id,
  result: { [member]: names.map((name) => ({ name })) },
})

describe('answers to a batch', () => {
  const BOTH: AskedLists = [
    { id: '1', method: 'tools/list' },
    { id: '2.5', method: 'prompts/list' },
  ]

  test('have lists whatever their ids are: a server may have changed those of the requests', () => {
    const ids = [1, '1', 2, 2.5, null, 'x', '1'.repeat(1 << 20)]
    expect(
      namesIn(
        found(
          ids.map((id) => answer(id, 'tools', 'a')),
          BOTH,
        ),
      ),
    ).toEqual(ids.map(() => ['a']))
    expect(namesIn(found(answer(1, 'prompts', 'p'), BOTH))).toEqual([['p']])
  })

  test('have no lists that were not requested', () => {
    expect(found(answer(1, 'resources', 'r'), BOTH)).toEqual([])
    expect(found(answer(1, 'prompts', 'p'), BOTH.slice(0, 1))).toEqual([])
  })

  test('have each list once, however often it was requested', () => {
    expect(namesIn(found([answer(1, 'tools', 'a')], [...BOTH, ...BOTH]))).toEqual([['a']])
  })
})
