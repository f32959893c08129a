// gatehouse_budget_reached_total: each budget that is used up is counted, in one process and in several.

import { expect, test } from 'vitest'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { createRates } from '../../../src/extproc/session/rates.js'
import { createSlots } from '../../../src/extproc/session/slots.js'
import { BUDGETS, createMetrics, type Metrics } from '../../../src/ops/admin/metrics.js'

const seriesOf = (text: string): Record<string, number> =>
  Object.fromEntries(
    [...text.matchAll(/^gatehouse_budget_reached_total\{budget="(.+)"\} (\d+)$/gm)].map(
      ([, budget = '', count]) => [budget, Number(count)],
    ),
  )
const NONE = Object.fromEntries(BUDGETS.map((budget) => [budget, 0]))

const call = { webhook: 'words', phase: 'request', outcome: 'fail-closed' }
const causes: readonly (readonly [string, string, (metrics: Metrics) => void])[] = [
  [
    'rules beyond their work',
    'rule-work',
    (metrics) => metrics.checks.observe('default/a', 'deny', 'rule-budget', 0.1),
  ],
  [
    'audited rules beyond their work',
    'rule-work',
    (metrics) => metrics.checks.audited('default/a', 'deny', 'rule-budget'),
  ],
  [
    'header expressions beyond their work',
    'rule-work',
    (metrics) => metrics.guardrails.headerBudgetExceeded('words'),
  ],
  [
    'large MCP messages at once',
    'mcp-bodies',
    (metrics) => metrics.checks.observe('default/a', 'deny', 'too-many-bodies', 0.1),
  ],
  [
    'a full queue of a webhook',
    'webhook-queue',
    (metrics) => metrics.guardrails.verdict({ ...call, reason: 'busy' }, 1),
  ],
  [
    'a queue that does not move',
    'webhook-queue',
    (metrics) => metrics.guardrails.verdict({ ...call, reason: 'no-connection' }, 1),
  ],
  [
    'spans that do not fit',
    'export-queue',
    (metrics) => metrics.exported('otlp', 'traces', 'dropped', 1),
  ],
  ['unfinished messages', 'grpc-messages', (metrics) => metrics.budgetReached('grpc-messages')],
  ['connections', 'connections', (metrics) => metrics.budgetReached('connections')],
]

test.each(causes)('%s are counted at the first reading', async (_, budget, cause) => {
  const metrics = createMetrics()
  expect(seriesOf(await metrics.text())).toEqual(NONE)
  cause(metrics)
  expect(seriesOf(await metrics.text())).toEqual({ ...NONE, [budget]: 1 })
  expect(seriesOf(await metrics.text())).toEqual({ ...NONE, [budget]: 1 })
})

test('what uses up no budget is not counted', async () => {
  const metrics = createMetrics()
  metrics.checks.observe('default/a', 'deny', 'no-token', 0.1)
  metrics.guardrails.verdict({ ...call, reason: 'timeout' }, 1)
  metrics.guardrails.verdict({ ...call, outcome: 'allow' }, 1)
  metrics.exported('otlp', 'traces', 'failed', 1)
  for (let i = 0; i < 100; i += 1)
    metrics.guardrails.tokens('default/a', { model: String(i), inputTokens: 1 })
  expect(seriesOf(await metrics.text())).toEqual(NONE)
  metrics.guardrails.tokens('default/a', { model: '100', inputTokens: 1 })
  expect(seriesOf(await metrics.text())).toEqual({ ...NONE, models: 1 })
})

test('the counts of workers are added to those of the main process', async () => {
  const [main, worker] = [createMetrics(), createMetrics()]
  main.budgetReached('connections')
  worker.budgetReached('held-bytes')
  worker.checks.observe('default/a', 'deny', 'rule-budget', 0.1)
  const text = await main.text([await worker.json()])
  expect(seriesOf(text)).toEqual({ ...NONE, connections: 1, 'held-bytes': 1, 'rule-work': 1 })
})

test('a body that does not fit is reported once, and a copy for an audit is not', () => {
  let full = 0
  const held = createHeldBytes(100, undefined, () => void (full += 1))
  const one = held.open()
  expect(one.add(90)).toBe(true)
  expect(full).toBe(0)
  expect(held.open().add(20)).toBe(false)
  expect(one.become(120)).toBe(false)
  expect(full).toBe(2)
  expect(held.forCopies().open().add(10)).toBe(false)
  expect(full).toBe(2)
})

test('calls beyond the slots and rates of a provider are reported', () => {
  let full = 0
  const onFull = (): void => void (full += 1)
  const slots = createSlots(1, undefined, onFull)
  const giveBack = slots.take('idp')
  expect(slots.take('idp')).toBeUndefined()
  expect(full).toBe(1)
  giveBack?.()
  expect(slots.take('idp')).toBeDefined()
  const rates = createRates({ perSecond: 1, burst: 1 }, () => 0, onFull)
  expect([rates.take('idp'), rates.take('idp')]).toEqual([true, false])
  expect(full).toBe(2)
})
