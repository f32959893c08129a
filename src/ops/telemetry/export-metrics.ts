// Sends the metrics of /metrics by OTLP, under the same names.

import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import type { Resource } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import type { TelemetrySettings } from '../settings/telemetry.js'

/** Reads the metrics of all processes. */
export type ReadMetrics = () => Promise<readonly PlainMetric[]>

/** A metric of /metrics. */
interface PlainMetric {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly PlainValue[]
}

interface PlainValue {
  readonly value: number
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  /** The metric's name with _bucket, _sum or _count; only histograms have it. */
  readonly metricName?: string
}

/** Data points of a request: encoding those of thousands of routes at once takes 25 ms. */
const MAX_BATCH = 2000

/** Starts sending. The result sends a last time and stops; it rejects if the collector does not accept the metrics. */
export function exportMetrics(
  { url, intervalMs, timeoutMs }: NonNullable<TelemetrySettings['metrics']>,
  resource: Resource,
  read: ReadMetrics,
): () => Promise<void> {
  const startTime = timeOf(performance.timeOrigin)
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(url === undefined ? {} : { url }),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(timeoutMs, intervalMs),
    maxExportBatchSize: MAX_BATCH,
    metricProducers: [
      {
        collect: async () => {
          const times = { startTime, endTime: timeOf(Date.now()) }
          const metrics = (await read()).flatMap((metric) => dataOf(metric, times))
          const scopeMetrics = [{ scope: { name: 'gatehouse' }, metrics }]
          return { resourceMetrics: { resource, scopeMetrics }, errors: [] }
        },
      },
    ],
  })
  const provider = new MeterProvider({ resource, readers: [reader] })
  return () => provider.shutdown()
}

/** Times of a data point. */
type Times = Pick<DataPoint<number>, 'startTime' | 'endTime'>

const timeOf = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]

/** Returns the metric in the SDK's form; nothing for a type that OTLP does not have (a summary). */
export function dataOf(metric: PlainMetric, times: Times): readonly MetricData[] {
  const { name, help: description, type, values } = metric
  const base = {
    descriptor: { name, description, unit: unitOf(name), valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  }
  if (type === 'histogram')
    return [
      { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(values, times) },
    ]
  const dataPoints = values.map(({ value, labels }) => ({
    ...times,
    attributes: { ...labels },
    value,
  }))
  if (type === 'gauge') return [{ ...base, dataPointType: DataPointType.GAUGE, dataPoints }]
  if (type !== 'counter') return []
  return [{ ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }]
}

const UNITS: readonly (readonly [pattern: RegExp, unit: string])[] = [
  [/_seconds(_total)?$/, 's'],
  [/_bytes(_limit|_total)?$/, 'By'],
]

const unitOf = (name: string): string => UNITS.find(([pattern]) => pattern.test(name))?.[1] ?? '1'

/** One series of a histogram. */
interface Series {
  readonly attributes: Attributes
  /** Upper bounds with the count of all values up to them. */
  readonly buckets: { readonly bound: number; readonly count: number }[]
  sum: number
}

function histograms(values: readonly PlainValue[], times: Times): DataPoint<Histogram>[] {
  const all = new Map<string, Series>()
  for (const { value, labels, metricName = '' } of values) {
    const { le, ...attributes } = labels
    const key = JSON.stringify(Object.entries(attributes).sort())
    const series = all.get(key) ?? { attributes, buckets: [], sum: 0 }
    all.set(key, series)
    if (metricName.endsWith('_sum')) series.sum = value
    else if (le !== undefined)
      series.buckets.push({ bound: le === '+Inf' ? Infinity : Number(le), count: value })
  }
  return [...all.values()].map((series) => ({
    ...times,
    attributes: series.attributes,
    value: histogramOf(series),
  }))
}

/** The counts of Prometheus include those of the smaller bounds; the ones of OTLP do not. */
function histogramOf({ buckets, sum }: Series): Histogram {
  const sorted = buckets.toSorted((a, b) => a.bound - b.bound)
  return {
    buckets: {
      boundaries: sorted.map(({ bound }) => bound).filter((bound) => bound !== Infinity),
      counts: sorted.map(({ count }, index) => count - (sorted[index - 1]?.count ?? 0)),
    },
    sum,
    count: sorted.at(-1)?.count ?? 0,
  }
}
