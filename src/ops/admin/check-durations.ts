// Histograms of durations in one array for each series: those of prom-client would allocate objects at every check and
// every call of a webhook.

import type { Histogram, MetricObjectWithValues, MetricValue, Registry } from 'prom-client'

interface Description {
  readonly name: string
  readonly help: string
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[]
}

type Labels = Readonly<Record<string, string>>

/** One series of a histogram. */
class Series {
  /** Count for each bucket; the last one is for durations above all bounds. */
  readonly #counts: number[]
  #sum = 0

  constructor(
    private readonly description: Description,
    readonly labels: Labels,
  ) {
    this.#counts = Array<number>(description.buckets.length + 1).fill(0)
  }

  observe(seconds: number): void {
    const { buckets } = this.description
    let bucket = 0
    while (bucket < buckets.length && seconds > (buckets[bucket] ?? Infinity)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += seconds
  }

  values(): readonly object[] {
    const { name, buckets } = this.description
    const { labels } = this
    let count = 0
    const values = this.#counts.map((own, index) => ({
      metricName: `${name}_bucket`,
      labels: { le: buckets[index] ?? '+Inf', ...labels },
      value: (count += own),
    }))
    const sum = { metricName: `${name}_sum`, labels, value: this.#sum }
    return [...values, sum, { metricName: `${name}_count`, labels, value: count }]
  }
}

/** Registers an object with a name and get(): the registry uses nothing else. */
function registerSeries(
  registry: Registry,
  { name, help }: Description,
  series: () => readonly Series[],
): void {
  const get = (): Promise<MetricObjectWithValues<MetricValue<string>>> =>
    Promise.resolve({
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: series().flatMap((one) => one.values()),
    } as unknown as MetricObjectWithValues<MetricValue<string>>)
  registry.registerMetric({ name, get } as unknown as Histogram)
}

/** Histogram of check durations. */
export class CheckDurations {
  readonly #all: Series

  constructor(private readonly description: Description) {
    this.#all = new Series(description, {})
  }

  observe(seconds: number): void {
    this.#all.observe(seconds)
  }

  register(registry: Registry): void {
    registerSeries(registry, this.description, () => [this.#all])
  }
}

/** Durations of calls of webhooks, with the labels webhook and phase. */
export class CallDurations {
  /** Series by webhook, one for each phase. */
  readonly #series = new Map<string, Series[]>()

  constructor(private readonly description: Description) {}

  observe(webhook: string, phase: string, seconds: number): void {
    const known = this.#series.get(webhook)
    const series = known?.find(({ labels }) => labels['phase'] === phase)
    if (series !== undefined) return series.observe(seconds)
    const first = new Series(this.description, { webhook, phase })
    first.observe(seconds)
    if (known === undefined) this.#series.set(webhook, [first])
    else known.push(first)
  }

  register(registry: Registry): void {
    registerSeries(registry, this.description, () => [...this.#series.values()].flat())
  }
}
