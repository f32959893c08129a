// The metrics of workers: asked for, and kept of those that have ended, so that no counter goes back.

import { countersOf, type MetricsJson, sumOf } from '../admin/merged-metrics.js'
import type { ToWorker } from './messages.js'

/** What is asked. */
export interface MetricsPlace {
  readonly number: number
  readonly isReady: boolean
  post(message: ToWorker): void
}

/** A worker that is busy for longer is counted as it was last time. */
const ANSWER_MS = 1_000

export class WorkerMetrics {
  readonly #places: readonly MetricsPlace[]
  /** By worker: what it said last. */
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

  /** It has ended: what it has counted stays counted. */
  keep(worker: number): void {
    const last = this.#last.get(worker)
    if (last === undefined) return
    this.#last.delete(worker)
    this.#ended = [...this.#ended, countersOf(last)]
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
