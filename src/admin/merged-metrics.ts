// Merges the metrics of several processes, and selects those to keep of a process that has ended.

import { AggregatorRegistry, type Registry } from 'prom-client'

/** Result of getMetricsAsJSON(): plain data that can be sent to another process. */
export type MetricsJson = readonly object[]

const merge = (parts: readonly MetricsJson[]): Registry =>
  AggregatorRegistry.aggregate(parts.map((part) => [...part]))

/** Merges each metric by its own aggregator: a sum, except for metrics of the process itself. */
export const mergedText = (parts: readonly MetricsJson[]): Promise<string> => merge(parts).metrics()

/** Returns the metrics of several processes as those of one. */
export const sumOf = (parts: readonly MetricsJson[]): Promise<MetricsJson> =>
  merge(parts).getMetricsAsJSON()

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
export const withoutRoutes = (metrics: MetricsJson, routes: ReadonlySet<unknown>): MetricsJson =>
  metrics.map((metric) => {
    const { values } = metric as { readonly values?: readonly Series[] }
    return values === undefined
      ? metric
      : { ...metric, values: values.filter(({ labels }) => !routes.has(labels?.route)) }
  })
