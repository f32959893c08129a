// Metrics of several processes → one text, and the counters of those that have ended.

import { AggregatorRegistry, type Registry } from 'prom-client'

/** As getMetricsAsJSON() gives them: plain, so that they can be sent from one process to another. */
export type MetricsJson = readonly object[]

const merge = (parts: readonly MetricsJson[]): Registry =>
  AggregatorRegistry.aggregate(parts.map((part) => [...part]))

/** Each metric by its own rule: sums, but for what is of the process as such. */
export const mergedText = (parts: readonly MetricsJson[]): Promise<string> => merge(parts).metrics()

export const sumOf = (parts: readonly MetricsJson[]): Promise<MetricsJson> =>
  merge(parts).getMetricsAsJSON()

/** Counters and histograms alone: a gauge of what has ended is of nothing. */
export const countersOf = (metrics: MetricsJson): MetricsJson =>
  metrics.filter((metric) => {
    const { type } = metric as { readonly type?: unknown }
    return type === 'counter' || type === 'histogram'
  })
