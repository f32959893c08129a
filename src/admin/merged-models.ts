// Bounds the models in the merged token counts. Each process bounds its own, but together they may have more.

import type { MetricsJson } from './merged-metrics.js'
import { MAX_MODELS, OTHER_MODELS, TOKENS_METRIC } from './token-counts.js'

interface TokenMetric {
  readonly values: readonly Series[]
}

interface Series {
  readonly labels: { readonly route?: unknown; readonly model?: unknown }
}

type Models = ReadonlySet<unknown>

/** Bounds the number of models per route in the merged metrics. */
export class MergedModels {
  /** Models that have series, by route. They keep them: tokens that moved to "other" would be counted again. */
  #kept: ReadonlyMap<unknown, Models> = new Map()

  /** Returns the metrics of all processes, with at most MAX_MODELS models per route; the series of others are "other". */
  bounded(parts: readonly MetricsJson[]): readonly MetricsJson[] {
    const seen = modelsIn(parts)
    this.#kept = new Map(
      [...seen].map(([route, models]) => [route, admitted(this.#kept.get(route), models)]),
    )
    return parts.map((part) => part.map((metric) => this.#folded(metric)))
  }

  #folded(metric: object): object {
    if (!isTokens(metric)) return metric
    const values = metric.values.map((series) => {
      const { route, model } = series.labels
      const isKept = model === OTHER_MODELS || this.#kept.get(route)?.has(model) === true
      return isKept ? series : { ...series, labels: { ...series.labels, model: OTHER_MODELS } }
    })
    return { ...metric, values }
  }
}

const isTokens = (metric: object): metric is TokenMetric =>
  'name' in metric && metric.name === TOKENS_METRIC && 'values' in metric

function modelsIn(parts: readonly MetricsJson[]): ReadonlyMap<unknown, Models> {
  const seen = new Map<unknown, Set<unknown>>()
  for (const { values } of parts.flat().filter(isTokens))
    for (const { labels } of values) {
      const models = seen.get(labels.route) ?? new Set()
      seen.set(labels.route, models.add(labels.model))
    }
  return seen
}

/** Admits new models by name, so that the order of the processes does not matter. */
function admitted(kept: Models = new Set(), seen: Models): Models {
  if (kept.size >= MAX_MODELS) return kept
  const added = [...seen].filter((model) => model !== OTHER_MODELS && !kept.has(model))
  return new Set([...kept, ...added.toSorted().slice(0, MAX_MODELS - kept.size)])
}
