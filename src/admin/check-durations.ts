// Histogram of check durations in one array: the histogram of prom-client would allocate objects at every check.

import type { Histogram, MetricObjectWithValues, MetricValue, Registry } from 'prom-client'

interface Description {
  readonly name: string
  readonly help: string
  /** Upper bounds in seconds, ascending. */
  readonly buckets: readonly number[]
}

/** Histogram of check durations. */
export class CheckDurations {
  /** Count for each bucket; the last one is for durations above all bounds. */
  private readonly counts: number[]
  private sum = 0

  constructor(private readonly description: Description) {
    this.counts = Array<number>(description.buckets.length + 1).fill(0)
  }

  observe(seconds: number): void {
    const { buckets } = this.description
    let bucket = 0
    while (bucket < buckets.length && seconds > (buckets[bucket] ?? Infinity)) bucket += 1
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1
    this.sum += seconds
  }

  /** Registers an object with a name and get(): the registry uses nothing else. */
  register(registry: Registry): void {
    const { name } = this.description
    const get = (): Promise<MetricObjectWithValues<MetricValue<string>>> =>
      Promise.resolve(this.values())
    registry.registerMetric({ name, get } as unknown as Histogram)
  }

  private values(): MetricObjectWithValues<MetricValue<string>> {
    const { name, help, buckets } = this.description
    let count = 0
    const values = this.counts.map((own, index) => ({
      metricName: `${name}_bucket`,
      labels: { le: buckets[index] ?? '+Inf' },
      value: (count += own),
    }))
    const total = { metricName: `${name}_count`, labels: {}, value: count }
    const sum = { metricName: `${name}_sum`, labels: {}, value: this.sum }
    const all = [...values, sum, total] as unknown as MetricValue<string>[]
    return {
      name,
      help,
      type: 'histogram',
      aggregator: 'sum',
      values: all,
    } as unknown as MetricObjectWithValues<MetricValue<string>>
  }
}
