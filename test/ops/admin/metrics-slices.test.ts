// The metrics of thousands of routes are merged and printed in slices, and say what prom-client says.

import {
  AggregatorRegistry,
  Counter,
  Gauge,
  Histogram,
  type PrometheusContentType,
  Registry,
} from 'prom-client'
import { expect, test } from 'vitest'
import { atOnce, SLICE_UNITS, type Work } from '../../../src/kit/turns.js'
import { CheckCounts } from '../../../src/ops/admin/check-counts.js'
import { type MetricsJson, readMetrics, sumOf } from '../../../src/ops/admin/merged-metrics.js'
import { MergedModels } from '../../../src/ops/admin/merged-models.js'
import { createMetrics, metricsText } from '../../../src/ops/admin/metrics.js'
import { TOKENS_METRIC } from '../../../src/ops/admin/token-counts.js'
import { countTurns } from '../../support/count-turns.js'
import { slowClock } from '../../support/slow-clock.js'

const ROUTES = 10_000

function slicesOf<T>(work: Work<T>): { readonly value: T; readonly slices: number } {
  let step = work.next()
  let slices = 1
  for (; step.done !== true; slices += 1) step = work.next()
  return { value: step.value, slices }
}

/** Metrics of every type, with labels that must be escaped. */
function registryOf(routes: number, each: number): Registry {
  const registry = new Registry()
  const registers = [registry]
  const counter = new Counter({
    name: 'checks_total',
    help: 'A "help" with \\ and\na line',
    labelNames: ['route', 'reason'],
    registers,
  })
  for (let index = 0; index < routes; index += 1)
    for (const reason of ['ok', 'a"b\\c\nd'])
      counter.inc({ route: `default/${String(index)}`, reason }, each)
  new Gauge({ name: 'empty', help: 'nothing', labelNames: ['of'], registers })
  const gauge = new Gauge({ name: 'limit', help: 'infinite', labelNames: ['sign'], registers })
  gauge.set({ sign: 'plus' }, Infinity)
  gauge.set({ sign: 'minus' }, -Infinity)
  new Gauge({ name: 'first', help: 'own', registers, aggregator: 'first' }).set(each)
  new Gauge({ name: 'none', help: 'own', registers, aggregator: 'omit' }).set(each)
  const histogram = new Histogram({
    name: 'seconds',
    help: 'time',
    labelNames: ['webhook'],
    buckets: [0.5, 1],
    registers,
  })
  histogram.observe({ webhook: 'a' }, 0.75)
  histogram.observe({ webhook: 'b' }, each)
  return registry
}

const linesOf = (text: string): readonly string[] => text.split('\n').toSorted()

test('the text is that of prom-client', async () => {
  const registry = registryOf(3, 2)
  const text = atOnce(metricsText(await readMetrics(registry)))
  expect(linesOf(text)).toEqual(linesOf(await registry.metrics()))
  expect(atOnce(metricsText([]))).toBe('')
})

test('a value that is no number is NaN', () => {
  const metric = {
    name: 'a',
    help: 'b',
    type: 'gauge',
    aggregator: 'sum',
    values: [{ value: NaN, labels: {} }],
  }
  expect(atOnce(metricsText([metric]))).toBe('# HELP a b\n# TYPE a gauge\na NaN\n')
})

test('the sum of processes is that of prom-client, in slices', async () => {
  const parts: MetricsJson[] = []
  for (const [routes, each] of [
    [ROUTES, 1],
    [ROUTES / 2, 3],
    [10, 5],
  ] as const)
    parts.push(await readMetrics(registryOf(routes, each)))
  const expected = AggregatorRegistry.aggregate<PrometheusContentType>(
    parts.map((part) => [...part]),
  )
  slowClock()
  const { result, turns } = await countTurns(() => sumOf(parts))
  const seriesOf = (metrics: MetricsJson): readonly string[] =>
    metrics
      .flatMap(({ values, ...metric }) => values.map((one) => JSON.stringify([metric, one])))
      .toSorted()
  expect(seriesOf(result)).toEqual(seriesOf(await readMetrics(expected)))
  // A slice ends 4 ms after it began: with this clock, after about four groups of at most 500 of 30,020 series.
  expect(turns).toBeGreaterThan(30_020 / 500 / 5)
})

test('a text of thousands of routes is printed in slices', async () => {
  const json = await readMetrics(registryOf(ROUTES, 1))
  const { value, slices } = slicesOf(metricsText(json))
  expect(value.split('\n').length).toBeGreaterThan(2 * ROUTES)
  expect(slices).toBeGreaterThanOrEqual((2 * ROUTES) / 512)
})

test('counts of thousands of routes are taken over one route at a time', () => {
  const counts = new CheckCounts()
  for (let route = 0; route < ROUTES; route += 1) counts.add(String(route), 'allow', 'allowed')
  let [taken, most] = [0, 0]
  const work = counts.flush(() => (taken += 1))
  for (let step = work.next(), before = 0; step.done !== true; step = work.next()) {
    most = Math.max(most, taken - before)
    before = taken
  }
  expect([taken, most]).toEqual([ROUTES, 1])
})

test('other work gets its turns while the metrics of thousands of routes are read', async () => {
  const metrics = createMetrics()
  for (let route = 0; route < ROUTES; route += 1)
    metrics.checks.observe(`default/${String(route)}`, 'allow', 'allowed', 0.001)
  slowClock()
  const { turns, result } = await countTurns(() => metrics.text())
  expect(result).toContain('gatehouse_checks_total{route="default/9999"')
  // A slice ends 4 ms after it began: with this clock, after four routes when counts are taken over, and then after about four
  // steps of 512 series.
  expect(turns).toBeGreaterThan(ROUTES / 4 + ROUTES / 512 / 8)
})

test('the models of thousands of routes are bounded in slices', () => {
  const routes = [...Array(ROUTES).keys()].map(String)
  let read = 0
  const part = (model: string): MetricsJson => [
    {
      name: TOKENS_METRIC,
      help: 'tokens',
      type: 'counter',
      aggregator: 'sum',
      values: routes.map((route) => ({
        value: 1,
        get labels() {
          read += 1
          return { route, model }
        },
      })),
    },
  ]
  const work = new MergedModels().bounded([part('a'), part('b')])
  let most = 0
  for (let before = 0, step = work.next(); ; before = read, step = work.next()) {
    most = Math.max(most, read - before)
    if (step.done === true) break
  }
  // Each series is looked at when models are collected, and when others are folded.
  expect(read).toBe(2 * 2 * ROUTES)
  expect(most).toBeLessThanOrEqual(SLICE_UNITS)
})
