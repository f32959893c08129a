// Lists whose rules cost much: their items take turns, whoever asked for them.

import { beforeEach, expect, test } from 'vitest'
import { lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { CostlyExpressions } from '../../../src/extauthz/cel/costly-expressions.js'
import { compileRules } from '../../../src/extauthz/rules/compile-rules.js'
import { rulesOfLists } from '../../../src/extauthz/rules/listed.js'
import { filterMessage, type ListCaller } from '../../../src/extproc/lists/filter-list.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import { atOnce } from '../../../src/kit/turns.js'

const groups = [...Array(400).keys()].map((index) => `group-${String(index)}`)

const tools = [...Array(5).keys()].map((index) => ({ name: `tool-${String(index)}` }))
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } })

let judged: number
let caller: ListCaller & { readonly ending: OwnEnding }

beforeEach(async () => {
  const source = 'jwt.groups.all(a, jwt.groups.all(b, a + b + mcp.tool.name != ""))'
  const rules = atOnce(compileRules({ allow: [], deny: [], require: [source] }))
  if (rules === undefined) throw new Error('no rules')
  const compiled = rulesOfLists(rules)
  const require = compiled.require.map((rule): typeof rule => ({
    ...rule,
    evaluate: (...given) => {
      judged += 1
      return rule.evaluate(...given)
    },
  }))
  caller = {
    asked: 'all',
    attributes: { jwt: lazyValue({ groups }, JSON.stringify({ groups })) },
    rules: { ...compiled, require },
    costly: new CostlyExpressions(),
    ending: new OwnEnding(),
  }
  await filterMessage(LIST, caller)
  judged = 0
})

test('of many lists at once, few items are judged in a turn', async () => {
  const all = Promise.all(Array.from({ length: 40 }, () => filterMessage(LIST, caller)))
  while (judged === 0) await new Promise(setImmediate)
  expect(judged).toBeLessThan(20)
  for (const filtered of await all) expect(filtered).toMatchObject({ ok: true })
  expect(judged).toBe(200)
})

test('lists whose client leaves are judged no further', async () => {
  const all = Promise.all(Array.from({ length: 40 }, () => filterMessage(LIST, caller)))
  while (judged === 0) await new Promise(setImmediate)
  caller.ending.abort()
  const before = judged
  await all
  expect(judged).toBe(before)
})
