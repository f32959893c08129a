// The metrics of a collector are those of /metrics: the same names, labels and values.

import { DataPointType, type MetricData } from '@opentelemetry/sdk-metrics'
import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/ops/admin/metrics.js'
import { dataOf } from '../../../src/ops/telemetry/export-metrics.js'

const times = { startTime: [1, 0], endTime: [2, 0] } satisfies Parameters<typeof dataOf>[1]

const labelsOf = (attributes: object): string =>
  JSON.stringify(Object.entries(attributes).toSorted())

/** Each number of a metric, as "NAME LABELS VALUE"; of a histogram the count and the sum of each series. */
function numbersOf(metric: MetricData): readonly string[] {
  const { name } = metric.descriptor
  if (metric.dataPointType === DataPointType.HISTOGRAM)
    return metric.dataPoints.flatMap(({ attributes, value }) => [
      `${name}_count ${labelsOf(attributes)} ${String(value.count)}`,
      `${name}_sum ${labelsOf(attributes)} ${String(value.sum)}`,
    ])
  if (metric.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM) return ['not expected']
  return metric.dataPoints.map(
    ({ attributes, value }) => `${name} ${labelsOf(attributes)} ${String(value)}`,
  )
}

/** The same of a line of the text format. */
function numberIn(line: string): string {
  const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [
    key,
    text,
  ])
  return `${name} ${JSON.stringify(pairs.toSorted())} ${String(Number(value))}`
}

test('every number of /metrics about Gatehouse arrives', async () => {
  const metrics = createMetrics(() => 7, 9)
  metrics.checks.observe('default/a', 'deny', 'no-token', 0.25)
  metrics.checks.observe('default/a', 'allow', 'allowed', 0.5)
  metrics.checks.observe('default/b', 'allow', 'allowed', 2)
  metrics.xdsNack('Listener', 'envoy-1')
  metrics.exported('otlp', 'traces', 'sent', 3)
  const text = await metrics.text()
  const expected = text
    .split('\n')
    .filter((line) => line.startsWith('gatehouse_') && !/^\w+_bucket\{/.test(line))
    .map(numberIn)
  const json = await metrics.merged([])
  const sent = json.flatMap((metric) => dataOf(metric, times)).flatMap(numbersOf)
  expect(expected.length).toBeGreaterThan(20)
  expect(sent.filter((one) => one.startsWith('gatehouse_')).toSorted()).toEqual(expected.toSorted())
})
