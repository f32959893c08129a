// Metrics of thousands of routes are passed to the main process in parts, each asked for when the one before has come:
// as one message they hold up a worker, and then the main process, for a tenth of a second.

import type { MetricsJson, PlainMetric } from '../../ops/admin/merged-metrics.js'
import type { FromWorker } from './messages.js'

/** A message with a part of a worker's metrics. */
export type MetricsPart = Extract<FromWorker, { readonly type: 'metrics' }>

/** Maximum number of series in a part: about two milliseconds. */
const PART = 2_000
/** Maximum number of calls that are answered at the same time; the oldest is given up. */
const MOST_CALLS = 8

/** Splits metrics into parts; returns at least one. */
export function partsOfMetrics(metrics: MetricsJson): readonly MetricsJson[] {
  const parts: MetricsJson[] = []
  let part: PlainMetric[] = []
  let room = PART
  for (const metric of metrics) {
    let from = 0
    do {
      const values = metric.values.slice(from, from + room)
      part.push({ ...metric, values })
      from += values.length
      room -= values.length
      if (room > 0) continue
      parts.push(part)
      part = []
      room = PART
    } while (from < metric.values.length)
  }
  if (part.length > 0 || parts.length === 0) parts.push(part)
  return parts
}

/** Joins the parts of partsOfMetrics(). */
export function joinedParts(parts: readonly MetricsJson[]): MetricsJson {
  const [first = []] = parts
  if (parts.length < 2) return first
  const joined: PlainMetric[] = []
  for (const metric of parts.flat()) {
    const last = joined.at(-1)
    if (last?.name !== metric.name) joined.push(metric)
    else joined[joined.length - 1] = { ...last, values: last.values.concat(metric.values) }
  }
  return joined
}

/** In a worker: the metrics that the main process is being told. */
export class ToldMetrics {
  readonly #read: () => Promise<MetricsJson>
  readonly #calls = new Map<number, readonly MetricsJson[]>()

  constructor(read: () => Promise<MetricsJson>) {
    this.#read = read
  }

  /** Returns a part of the answer to a call; part 0 reads the metrics. undefined: the call was given up. */
  async part(call: number, part: number): Promise<MetricsPart | undefined> {
    if (part === 0) this.#begin(call, partsOfMetrics(await this.#read()))
    const parts = this.#calls.get(call)
    const metrics = parts?.[part]
    if (parts === undefined || metrics === undefined) return undefined
    const isLast = part === parts.length - 1
    if (isLast) this.#calls.delete(call)
    return { type: 'metrics', call, part, metrics, isLast }
  }

  #begin(call: number, parts: readonly MetricsJson[]): void {
    this.#calls.set(call, parts)
    for (const oldest of this.#calls.keys()) {
      if (this.#calls.size <= MOST_CALLS) return
      this.#calls.delete(oldest)
    }
  }
}
