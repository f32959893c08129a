// Merges the metrics of several processes, and selects those to keep of a process that has ended.

import { AggregatorRegistry, type PrometheusContentType, type Registry } from 'prom-client'
import { nextTurn, Pace, runInTurns, timedSlices, type Work } from '../../kit/turns.js'

/** The metrics of a registry as plain data, which can be sent to another process. */
export type MetricsJson = readonly PlainMetric[]

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
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  /** The metric's name with _bucket, _sum or _count; only histograms have it. */
  readonly metricName?: string
}

/** Reads all metrics of a registry. */
export async function readMetrics(registry: Registry): Promise<MetricsJson> {
  const metrics = await registry.getMetricsAsJSON()
  // The type is a name, though prom-client declares a number.
  return metrics.map(({ name, help, type, aggregator, values }) => ({
    name,
    help,
    type: String(type),
    aggregator,
    values,
  }))
}

/**
 * Returns the metrics of several processes as those of one, in slices. Each metric is merged by its own aggregator: a
 * sum, except for metrics of the process itself.
 */
export async function sumOf(parts: readonly MetricsJson[]): Promise<MetricsJson> {
  const merged: PlainMetric[] = []
  const slice = timedSlices(() => performance.now())
  slice.begin()
  for (const same of sameNames(parts)) {
    const sums: PlainMetric[] = []
    for (const group of await runInTurns(groupsOf(same))) {
      if (slice.isOver()) {
        await nextTurn()
        slice.begin()
      }
      const sum = AggregatorRegistry.aggregate<PrometheusContentType>(
        group.map((metric) => [metric]),
      )
      sums.push(...(await readMetrics(sum)))
    }
    const [first] = sums
    if (first !== undefined) merged.push({ ...first, values: sums.flatMap(({ values }) => values) })
  }
  return merged
}

/** Maximum number of series that are merged at once. */
const GROUP = 500

const seriesIn = (metrics: readonly PlainMetric[]): number =>
  metrics.reduce((total, { values }) => total + values.length, 0)

/** Splits the series of one metric of all processes, which stay together by their route or webhook. */
function* groupsOf(same: readonly PlainMetric[]): Work<readonly (readonly PlainMetric[])[]> {
  if (seriesIn(same) <= GROUP) return [same]
  const pace = new Pace()
  const groups: (PlainMetric & { readonly values: PlainValue[] })[][] = []
  const groupOf = new Map<unknown, number>()
  const most = GROUP / same.length
  let inLast = most
  for (const [part, metric] of same.entries())
    for (const value of metric.values) {
      if (pace.isDue()) yield
      const key = value.labels['route'] ?? value.labels['webhook']
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
  for (const metric of parts.flat()) {
    const same = byName.get(metric.name)
    if (same === undefined) byName.set(metric.name, [metric])
    else same.push(metric)
  }
  return byName.values()
}

/** Returns only counters and histograms: a gauge of a process that has ended means nothing. */
export const countersOf = (metrics: MetricsJson): MetricsJson =>
  metrics.filter(({ type }) => type === 'counter' || type === 'histogram')

/** Returns the metrics without the series of these routes. */
export function* withoutRoutes(
  metrics: MetricsJson,
  routes: ReadonlySet<unknown>,
): Work<MetricsJson> {
  const pace = new Pace()
  const left: PlainMetric[] = []
  for (const metric of metrics) {
    const values: PlainValue[] = []
    for (const value of metric.values) {
      if (pace.isDue()) yield
      if (!routes.has(value.labels['route'])) values.push(value)
    }
    left.push({ ...metric, values })
  }
  return left
}
