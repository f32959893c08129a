// Merges the metrics of several processes, and selects those to keep of a process that has ended.

import { AggregatorRegistry } from 'prom-client'
import { Pace, type Work } from '../../kit/turns.js'

/** Result of getMetricsAsJSON(): plain data that can be sent to another process. */
export type MetricsJson = readonly object[]

/** A metric of MetricsJson. */
export interface PlainMetric {
  readonly name: string
  readonly help: string
  readonly type: string
  /** How the metric of several processes is merged. */
  readonly aggregator: string
  readonly values: readonly PlainValue[]
}

/** One series, or one number of a series of a histogram. */
export interface PlainValue {
  readonly value: number
  readonly labels?: Readonly<Record<string, string | number>>
  /** The metric's name with _bucket, _sum or _count; only histograms have it. */
  readonly metricName?: string
}

/**
 * Returns the metrics of several processes as those of one. Each metric is merged by its own aggregator: a sum, except
 * for metrics of the process itself.
 */
export function* sumOf(parts: readonly MetricsJson[], pace = new Pace()): Work<MetricsJson> {
  const merged: PlainMetric[] = []
  for (const same of sameNames(parts)) {
    const sums: PlainMetric[] = []
    for (const group of yield* groupsOf(same, pace)) {
      if (pace.isDue(MERGED_UNITS * seriesIn(group))) yield
      const all = AggregatorRegistry.aggregate(group.map((metric) => [metric]))
      sums.push(...(all.getMetricsAsArray() as unknown as readonly PlainMetric[]))
    }
    const [first] = sums
    if (first === undefined) continue
    const { name, help, type, aggregator } = first
    const values = sums.flatMap((sum) => sum.values)
    merged.push({ name, help, type, aggregator, values })
  }
  return merged
}

/** Merging a series costs as much as looking at this many JSON values. */
const MERGED_UNITS = 8
/** Series that are merged at once. */
const GROUP = 500

const seriesIn = (metrics: readonly PlainMetric[]): number =>
  metrics.reduce((total, { values }) => total + values.length, 0)

/** Splits the series of one metric of all processes, which stay together by their route or webhook. */
function* groupsOf(
  same: readonly PlainMetric[],
  pace: Pace,
): Work<readonly (readonly PlainMetric[])[]> {
  if (seriesIn(same) <= GROUP) return [same]
  const groups: (PlainMetric & { readonly values: PlainValue[] })[][] = []
  const groupOf = new Map<unknown, number>()
  const most = GROUP / same.length
  let inLast = most
  for (const [part, metric] of same.entries())
    for (const value of metric.values) {
      if (pace.isDue()) yield
      const key = value.labels?.['route'] ?? value.labels?.['webhook']
      const known = groupOf.get(key)
      if (known === undefined && inLast >= most) {
        groups.push(same.map((one) => ({ ...one, values: [] })))
        inLast = 0
      }
      const index = known ?? groups.length - 1
      groupOf.set(key, index)
      if (index === groups.length - 1) inLast += 1
      groups[index]?.[part]?.values.push(value)
    }
  return groups
}

/** Groups the metrics of all processes by their names. */
function sameNames(parts: readonly MetricsJson[]): Iterable<readonly PlainMetric[]> {
  const byName = new Map<string, PlainMetric[]>()
  for (const metric of parts.flat() as readonly PlainMetric[]) {
    const same = byName.get(metric.name)
    if (same === undefined) byName.set(metric.name, [metric])
    else same.push(metric)
  }
  return byName.values()
}

/** Returns only counters and histograms: a gauge of a process that has ended means nothing. */
export const countersOf = (metrics: MetricsJson): MetricsJson =>
  metrics.filter((metric) => {
    const { type } = metric as { readonly type?: unknown }
    return type === 'counter' || type === 'histogram'
  })

interface Series {
  readonly labels?: { readonly route?: unknown }
}

/** Returns the metrics without the series of these routes. */
export function* withoutRoutes(
  metrics: MetricsJson,
  routes: ReadonlySet<unknown>,
): Work<MetricsJson> {
  const pace = new Pace()
  const left: object[] = []
  for (const metric of metrics) {
    const { values } = metric as { readonly values?: readonly Series[] }
    if (values === undefined) {
      left.push(metric)
      continue
    }
    const kept: Series[] = []
    for (const series of values) {
      if (pace.isDue()) yield
      if (!routes.has(series.labels?.route)) kept.push(series)
    }
    left.push({ ...metric, values: kept })
  }
  return left
}
