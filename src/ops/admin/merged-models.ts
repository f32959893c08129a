// Bounds the models in the merged token counts. Each process bounds its own, but together they may have more.

import { mapWork, Pace, type Work } from '../../kit/turns.js'
import type { MetricsJson, PlainMetric, PlainValue } from './merged-metrics.js'
import { MAX_MODELS, OTHER_MODELS, TOKENS_METRIC } from './token-counts.js'

type Models = ReadonlySet<unknown>

/** Bounds the number of models per route in the merged metrics. */
export class MergedModels {
  /** Models that have series, by route. They keep them: tokens that moved to "other" would be counted again. */
  readonly #kept = new Map<unknown, Models>()

  /** Returns the metrics of all processes, with at most MAX_MODELS models per route; the series of others are "other". */
  bounded(parts: readonly MetricsJson[], pace = new Pace()): Work<readonly MetricsJson[]> {
    return boundedWork(parts, this.#kept, pace)
  }
}

function* boundedWork(
  parts: readonly MetricsJson[],
  kept: Map<unknown, Models>,
  pace: Pace,
): Work<readonly MetricsJson[]> {
  const seen = yield* modelsIn(parts, pace)
  for (const route of kept.keys()) if (!seen.has(route)) kept.delete(route)
  // Into the same map: another reader may be at work, and must not lose what this one admits.
  for (const [route, models] of seen) {
    if (pace.isDue(SERIES_UNITS + models.size)) yield
    kept.set(route, admitted(kept.get(route), models))
  }
  return yield* mapWork(parts, (part) => mapWork(part, (metric) => folded(metric, kept, pace)))
}

/** Looking at a series costs as much as looking at this many JSON values. */
const SERIES_UNITS = 2

function* folded(
  metric: PlainMetric,
  kept: ReadonlyMap<unknown, Models>,
  pace: Pace,
): Work<PlainMetric> {
  if (!isTokens(metric)) return metric
  const values: PlainValue[] = []
  for (const series of metric.values) {
    if (pace.isDue(SERIES_UNITS)) yield
    const { route, model } = series.labels
    const isKept = model === OTHER_MODELS || kept.get(route)?.has(model) === true
    values.push(isKept ? series : { ...series, labels: { ...series.labels, model: OTHER_MODELS } })
  }
  return { ...metric, values }
}

const isTokens = ({ name }: PlainMetric): boolean => name === TOKENS_METRIC

function* modelsIn(parts: readonly MetricsJson[], pace: Pace): Work<ReadonlyMap<unknown, Models>> {
  const seen = new Map<unknown, Set<unknown>>()
  for (const { values } of parts.flat().filter(isTokens))
    for (const { labels } of values) {
      if (pace.isDue(SERIES_UNITS)) yield
      const models = seen.get(labels['route']) ?? new Set()
      seen.set(labels['route'], models.add(labels['model']))
    }
  return seen
}

/** Admits new models by name, so that the order of the processes does not matter. */
function admitted(kept: Models = new Set(), seen: Models): Models {
  if (kept.size >= MAX_MODELS) return kept
  const added = [...seen].filter((model) => model !== OTHER_MODELS && !kept.has(model))
  return new Set([...kept, ...added.toSorted().slice(0, MAX_MODELS - kept.size)])
}
