// Converts the metrics of prom-client to OTLP.

import { DataPointType } from '@opentelemetry/sdk-metrics'
import { Counter, Gauge, Histogram, Registry, Summary } from 'prom-client'
import { expect, test } from 'vitest'
import { readMetrics } from '../../../src/ops/admin/merged-metrics.js'
import { dataOf } from '../../../src/ops/telemetry/export-metrics.js'

const times = { startTime: [1, 0], endTime: [2, 0] } satisfies Parameters<typeof dataOf>[1]

async function converted(create: (registers: Registry[]) => void) {
  const registry = new Registry()
  create([registry])
  return (await readMetrics(registry)).flatMap((metric) => dataOf(metric, times))
}

test('a counter is a sum that never falls', async () => {
  const [metric] = await converted((registers) => {
    new Counter({ name: 'a_total', help: 'All.', labelNames: ['to'], registers }).inc(
      { to: 'x' },
      3,
    )
  })
  expect(metric).toMatchObject({
    descriptor: { name: 'a_total', description: 'All.', unit: '1' },
    dataPointType: DataPointType.SUM,
    isMonotonic: true,
    dataPoints: [{ ...times, attributes: { to: 'x' }, value: 3 }],
  })
})

test('a gauge stays one, with its unit', async () => {
  const [metric] = await converted((registers) => {
    new Gauge({ name: 'held_bytes', help: 'Held.', registers }).set(5)
  })
  expect(metric).toMatchObject({
    descriptor: { unit: 'By' },
    dataPointType: DataPointType.GAUGE,
    dataPoints: [{ attributes: {}, value: 5 }],
  })
})

test('a histogram has the counts of its buckets, without those of the smaller ones', async () => {
  const [metric] = await converted((registers) => {
    const histogram = new Histogram({
      name: 'b_seconds',
      help: 'How long.',
      labelNames: ['to'],
      registers,
      buckets: [1, 10],
    })
    for (const value of [0.5, 0.5, 5, 50]) histogram.observe({ to: 'x' }, value)
    histogram.observe({ to: 'y' }, 1)
  })
  expect(metric).toMatchObject({
    descriptor: { unit: 's' },
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: [
      {
        attributes: { to: 'x' },
        value: { buckets: { boundaries: [1, 10], counts: [2, 1, 1] }, sum: 56, count: 4 },
      },
      {
        attributes: { to: 'y' },
        value: { buckets: { boundaries: [1, 10], counts: [1, 0, 0] }, sum: 1, count: 1 },
      },
    ],
  })
})

test('a summary, which OTLP does not have, is left out', async () => {
  const metrics = await converted((registers) => {
    new Summary({ name: 'c', help: 'Quantiles.', registers }).observe(1)
  })
  expect(metrics).toEqual([])
})
