// What every check counts, in plain numbers that prom-client reads at a scrape: to count by itself, it builds a key of the
// labels, or the name of a bucket, at each of them.

import { Histogram, type HistogramConfiguration } from 'prom-client'
import type { Work } from '../../kit/turns.js'

interface Labels {
  readonly route: string
  readonly decision: string
  readonly reason: string
  /** Present for decisions of policies of mode Audit. */
  readonly mode?: 'audit'
}

interface Count extends Labels {
  count: number
}

/** Counter of checks by route, decision, reason and mode. */
export class CheckCounts {
  /** Counts by route since the last flush; few combinations of decision and reason each. */
  readonly #counts = new Map<string, Count[]>()

  add(route: string, decision: string, reason: string, mode?: 'audit'): void {
    const known = this.#counts.get(route)
    if (known !== undefined)
      for (const one of known)
        if (one.reason === reason && one.decision === decision && one.mode === mode) {
          one.count += 1
          return
        }
    const first = { route, decision, reason, ...(mode !== undefined && { mode }), count: 1 }
    if (known === undefined) this.#counts.set(route, [first])
    else known.push(first)
  }

  /** Hands over the counts since the last call. Yields after each route. */
  *flush(take: (labels: Labels, count: number) => void): Work<void> {
    for (const counts of this.#counts.values()) {
      for (const one of counts) {
        const { count, ...labels } = one
        if (count > 0) take(labels, count)
        one.count = 0
      }
      yield
    }
  }

  /** Drops the counts of a route and returns their labels, which flush() may have handed over. */
  forget(route: string): readonly Labels[] {
    const counts = this.#counts.get(route) ?? []
    this.#counts.delete(route)
    return counts.map(({ count: _, ...labels }) => labels)
  }
}

/** Histogram without labels whose durations are counted by add(), not by observe(). */
export class DurationCounts extends Histogram<never> {
  readonly #bounds: readonly number[]
  /** Counts of each bucket; the last one is for durations above all bounds. */
  readonly #counts: number[]
  #sum = 0

  /** bounds: upper bounds in seconds, ascending. */
  constructor(
    configuration: Pick<HistogramConfiguration<never>, 'name' | 'help' | 'registers'>,
    bounds: readonly number[],
  ) {
    super({ ...configuration, buckets: [...bounds] })
    this.#bounds = bounds
    this.#counts = Array<number>(bounds.length + 1).fill(0)
  }

  add(seconds: number): void {
    const bounds = this.#bounds
    let bucket = 0
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? Infinity)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += seconds
  }

  /** Returns prom-client's values, which are all 0, with the numbers counted here: buckets, sum and count, in its order. */
  override async get(): ReturnType<Histogram<never>['get']> {
    const metric = await super.get()
    let count = 0
    const buckets = this.#counts.map((own) => (count += own))
    const numbers = [...buckets, this.#sum, count]
    return {
      ...metric,
      values: metric.values.map((value, index) => ({ ...value, value: numbers[index] ?? 0 })),
    }
  }
}
