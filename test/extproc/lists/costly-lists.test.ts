// Lists whose rules cost much: their items take turns, whoever asked for them.

import { expect, test } from 'vitest'
import { lazyValue } from '../../../src/cel/attributes.js'
import { CostlyExpressions } from '../../../src/cel/costly-expressions.js'
import { OwnEnding } from '../../../src/ending.js'
import { filterMessage } from '../../../src/extproc/lists/filter-list.js'
import { compileRules } from '../../../src/rules/compile-rules.js'
import { rulesOfLists } from '../../../src/rules/listed.js'
import { atOnce } from '../../../src/turns.js'

const groups = [...Array(400).keys()].map((index) => `group-${String(index)}`)

const tools = [...Array(5).keys()].map((index) => ({ name: `tool-${String(index)}` }))
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools } })

test('of many lists at once, few items are judged in a turn', async () => {
  const source = 'jwt.groups.all(a, jwt.groups.all(b, a + b + mcp.tool.name != ""))'
  const rules = atOnce(compileRules({ allow: [], deny: [], require: [source] }))
  if (rules === undefined) throw new Error('no rules')
  const compiled = rulesOfLists(rules)
  let judged = 0
  const require = compiled.require.map((rule): typeof rule => ({
    ...rule,
    evaluate: (...given) => {
      judged += 1
      return rule.evaluate(...given)
    },
  }))
  const caller = {
    asked: 'all' as const,
    attributes: { jwt: lazyValue({ groups }, JSON.stringify({ groups })) },
    rules: { ...compiled, require },
    costly: new CostlyExpressions(),
    ending: new OwnEnding(),
  }
  await filterMessage(LIST, caller)
  judged = 0
  const all = Promise.all(Array.from({ length: 40 }, () => filterMessage(LIST, caller)))
  while (judged === 0) await new Promise(setImmediate)
  expect(judged).toBeLessThan(20)
  for (const filtered of await all) expect(filtered).toMatchObject({ ok: true })
  expect(judged).toBe(200)
})
