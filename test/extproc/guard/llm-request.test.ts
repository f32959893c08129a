// What header expressions read of a body: the members that they name, within their budget for any body.

import { expect, test } from 'vitest'
import { Budget } from '../../../src/extauthz/cel/budget.js'
import { compileValue } from '../../../src/extauthz/cel/value.js'
import { llmRequestValue } from '../../../src/extproc/guard/inspect-request.js'
import { readJsonText } from '../../../src/kit/json/json-text.js'
import { atOnce } from '../../../src/kit/turns.js'

function evaluate(source: string, body: string, budget = new Budget()) {
  const value = atOnce(compileValue(source))
  const json = readJsonText(body)
  if (!value.ok || !json.ok) throw new Error('not valid')
  return value.value.evaluate({ llmRequest: llmRequestValue(json.value) }, budget)
}

const numbers = Array.from({ length: 20_000 }, (_, i) => i)
const body = JSON.stringify({
  model: 'm',
  n: 2,
  messages: [{ role: 'user', content: 'x'.repeat(1_000_000) }],
  numbers,
  objects: numbers.map((n) => ({ n })),
})

test.each([
  ['llmRequest.model', 'm'],
  ['string(llmRequest.n + 1)', '3'],
  ['llmRequest.messages[0].role', 'user'],
  ['default(llmRequest.user, "nobody")', 'nobody'],
  ['string(has(llmRequest.user))', 'false'],
])('%s of a large body', (source, value) => {
  expect(evaluate(source, body)).toEqual({ ok: true, value })
})

test.each([
  'string(size(llmRequest.numbers))',
  'string(size(llmRequest.objects))',
  'string(size(llmRequest))',
])('%s of one with too many values is beyond the budget', (source) => {
  expect(evaluate(source, body)).toEqual({ ok: false, error: 'budget_exceeded' })
})

test('whole numbers are as they were sent', () => {
  expect(evaluate('string(llmRequest.id)', '{"id":9007199254740993}')).toEqual({
    ok: true,
    value: '9007199254740993',
  })
  expect(evaluate('string(llmRequest.ids[1])', '{"ids":[1,9007199254740993]}')).toEqual({
    ok: true,
    value: '9007199254740993',
  })
})
