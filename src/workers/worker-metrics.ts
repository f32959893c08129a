// Collects the metrics of workers, and keeps the counters of ended ones so that no counter decreases.

import { countersOf, type MetricsJson, sumOf, withoutRoutes } from '../admin/merged-metrics.js'
import type { ToWorker } from './messages.js'

/** What this class needs from a worker's slot. */
export interface MetricsPlace {
  readonly number: number
  readonly isReady: boolean
  post(message: ToWorker): void
}

/** Longest wait for an answer; after that, a worker's previous metrics are used. */
const ANSWER_MS = 1_000

export class WorkerMetrics {
  readonly #places: readonly MetricsPlace[]
  /** Latest metrics by worker. */
  readonly #last = new Map<number, MetricsJson>()
  readonly #waiting = new Map<number, () => void>()
  #ended: readonly MetricsJson[] = []
  #calls = 0

  constructor(places: readonly MetricsPlace[]) {
    this.#places = places
  }

  async collect(): Promise<readonly MetricsJson[]> {
    await Promise.all(
      this.#places.filter(({ isReady }) => isReady).map((place) => this.#ask(place)),
    )
    if (this.#ended.length > 1) this.#ended = [await sumOf(this.#ended)]
    return [...this.#ended, ...this.#last.values()]
  }

  receive(worker: number, call: number, metrics: MetricsJson): void {
    this.#last.set(worker, metrics)
    this.#waiting.get(call)?.()
  }

  /** Keeps the counters of a worker that has ended. */
  keep(worker: number): void {
    const last = this.#last.get(worker)
    if (last === undefined) return
    this.#last.delete(worker)
    this.#ended = [...this.#ended, countersOf(last)]
  }

  /** Drops the series of routes from what it keeps. */
  forgetRoutes(routes: readonly string[]): void {
    if (routes.length === 0) return
    const gone = new Set(routes)
    this.#ended = this.#ended.map((metrics) => withoutRoutes(metrics, gone))
    for (const [worker, metrics] of this.#last) this.#last.set(worker, withoutRoutes(metrics, gone))
  }

  #ask(place: MetricsPlace): Promise<void> {
    const call = (this.#calls += 1)
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(call)
        resolve()
      }
      const timer = setTimeout(end, ANSWER_MS)
      this.#waiting.set(call, end)
      place.post({ type: 'metrics', call })
    })
  }
}
