// Compares measurements with the performance goals and formats the table: before, required, aim and measured.

import { HOLD_BACK, SLOW_WEBHOOK_MS, STEADY_EVENT_MS, STEADY_TOKEN } from './chat.js'
import { type CheckRows, GO_NOOP, NEW, REMEMBERED } from './checks.js'
import { ALLOW, GO_NOOP_PROC, type GuardRows, NO_GUARD, NOOP, WEBHOOK } from './guards.js'
import type { Row } from './measure.js'
import { median } from './median.js'
import { addedLatency, streamMemory } from './report-guards.js'
import { ratioOf, type Spread, spreadOf } from './spread.js'
import type { TokenRow } from './streams.js'
import { rowNamed, spreadCell, table } from './table.js'

/** A performance goal; smaller numbers are better. */
interface Goal {
  readonly what: string
  /** The value with grpc-js, before Gatehouse had its own gRPC server. */
  readonly before: number | undefined
  readonly must: number
  readonly aim: number | undefined
  readonly digits: number
  readonly unit: string
  /** undefined if it could not be measured. */
  readonly measured: Spread | undefined
}

export function reportGoals(checks: CheckRows, guards: GuardRows): string {
  const goals = [...checkGoals(checks), ...guardGoals(guards)]
  return `## What it must reach

Ratios are those of each round, in which both took their turn; the middle of all rounds decides.

${table(['', 'before', 'must', 'aim', 'measured', ''], goals.map(cells))}

${floorOf(guards)}
`
}

/** A paragraph about the lower bound of a guard's added latency. */
function floorOf({ replies }: GuardRows): string {
  const adds = (name: string): readonly string[] =>
    replies
      .filter((row) => row.name === name)
      .map((row) => addedLatency(row, rowNamed(replies, NO_GUARD)))
      .map((floor) => `the ${name}, which asks no webhook, adds ${spreadCell(floor, 2)} ms`)
  const floors = [GO_NOOP_PROC, NOOP].flatMap(adds).join('; ')
  return (
    `The added p50 has Envoy's own part in it: ${floors}. ` +
    'A chat goes to the server and back twice, once with the prompt and once with the reply, in any mode that holds bodies, and ' +
    'each way wakes a process that sleeps.'
  )
}

function checkGoals({ rows }: CheckRows): readonly Goal[] {
  const go = rows.find(({ name }) => name === GO_NOOP)
  const [remembered, fresh] = [rowNamed(rows, REMEMBERED), rowNamed(rows, NEW)]
  const ratio = { digits: 2, unit: '' }
  return [
    {
      what: 'check, remembered token, CPU, to the Go no-op',
      ...ratio,
      before: 1.19,
      must: 0.35,
      aim: 0.25,
      measured: go && cpuRatio(remembered, go),
    },
    {
      what: 'check, new RS256 token, CPU, to the Go no-op',
      ...ratio,
      before: 4.1,
      must: 1.5,
      aim: 1,
      measured: go && cpuRatio(fresh, go),
    },
    {
      what: 'p99 at 32 connections, to the Go no-op',
      ...ratio,
      before: 2,
      must: 1.2,
      aim: 1,
      measured: go && ratioOf(remembered.many.p99, go.many.p99),
    },
  ]
}

function guardGoals({ replies, tokens, memory, steady }: GuardRows): readonly Goal[] {
  const [allow, noop] = [rowNamed(replies, ALLOW), rowNamed(replies, NOOP)]
  const stream = memory.find(({ name }) => name === ALLOW)
  return [
    {
      what: 'guarded chat, CPU, to the no-op ext_proc',
      digits: 2,
      unit: '',
      before: 3.9,
      must: 2.1,
      aim: 1.5,
      measured: cpuRatio(allow, noop),
    },
    {
      what: 'added p50 of a guarded chat, less its two webhooks',
      digits: 2,
      unit: ' ms',
      before: 1.8,
      must: 0.5,
      aim: 0.2,
      measured: addedBeyondWebhooks(replies),
    },
    {
      what: 'an open guarded stream',
      digits: 0,
      unit: ' kB',
      before: 439,
      must: 150,
      aim: 100,
      measured: stream && spreadOf([streamMemory(stream)]),
    },
    {
      what: 'CPU per streamed token, to the no-op ext_proc',
      digits: 2,
      unit: '',
      before: 2.5,
      must: 2,
      aim: 1.2,
      measured: tokenRatio(tokens),
    },
    {
      what: FIRST_TEXT,
      digits: 0,
      unit: ' ms',
      before: undefined,
      must: 100,
      aim: undefined,
      measured: beyondBound(steady),
    },
  ]
}

/** The time in which the LLM sends `holdBack` - 1 characters, plus the webhook's response time. */
const BOUND_MS = ((HOLD_BACK - 1) / STEADY_TOKEN.length) * STEADY_EVENT_MS + SLOW_WEBHOOK_MS
const FIRST_TEXT =
  `first text at ${String(1_000 / STEADY_EVENT_MS)} tokens/s, webhook of ${String(SLOW_WEBHOOK_MS)} ms, ` +
  `\`holdBack\` ${String(HOLD_BACK)}: beyond the bound of ${BOUND_MS.toFixed(0)} ms`

/** How much later than the bound the first text of each stream came. */
function beyondBound([plain, guarded]: GuardRows['steady']): Spread {
  const bound = median(plain?.first ?? []) + BOUND_MS
  return spreadOf((guarded?.first ?? []).map((first) => first - bound))
}

function addedBeyondWebhooks(replies: readonly Row[]): Spread {
  const { one } = rowNamed(replies, WEBHOOK)
  const added = addedLatency(rowNamed(replies, ALLOW), rowNamed(replies, NO_GUARD))
  const webhooks = 2 * spreadOf(one.p50).median
  return {
    median: added.median - webhooks,
    low: added.low - webhooks,
    high: added.high - webhooks,
  }
}

function tokenRatio(rows: readonly TokenRow[]): Spread {
  const cpuOf = (name: string): readonly number[] =>
    rows.find((row) => row.name === name)?.cpu ?? []
  return ratioOf(cpuOf(ALLOW), cpuOf(NOOP))
}

const cpuRatio = (row: Row, to: Row): Spread | undefined =>
  row.serverCpu && to.serverCpu && ratioOf(row.serverCpu, to.serverCpu)

function cells({ what, before, must, aim, digits, unit, measured }: Goal): readonly string[] {
  const number = (value: number | undefined): string =>
    value === undefined ? '–' : `${String(value)}${unit}`
  return [
    what,
    number(before),
    number(must),
    number(aim),
    measured === undefined ? 'not measured: no Go' : `${spreadCell(measured, digits)}${unit}`,
    verdict(measured?.median, must, aim),
  ]
}

function verdict(value: number | undefined, must: number, aim: number | undefined): string {
  if (value === undefined) return '–'
  if (aim !== undefined && value <= aim) return 'aim reached'
  return value <= must ? 'reached' : '**missed**'
}
