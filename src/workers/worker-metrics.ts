// Collects the metrics of workers, and keeps the counters of ended ones so that no counter decreases.

import { countersOf, type MetricsJson, sumOf, withoutRoutes } from '../admin/merged-metrics.js'
import { runInTurns } from '../turns.js'
import { type AskedPlace, WorkerQuestion } from './worker-question.js'

/** The metrics of all workers. */
export class WorkerMetrics {
  readonly #question: WorkerQuestion<MetricsJson>
  #ended: readonly MetricsJson[] = []

  constructor(places: readonly AskedPlace[]) {
    this.#question = new WorkerQuestion(places, (call) => ({ type: 'metrics', call }))
  }

  async collect(): Promise<readonly MetricsJson[]> {
    await this.#question.ask()
    await this.#sumEnded()
    // Read together: the counters of a worker that has ended meanwhile have moved from one to the other.
    return [...this.#ended, ...this.#question.answers.values()]
  }

  /** Replaces the counters of ended workers by their sum, unless they change meanwhile. */
  async #sumEnded(): Promise<void> {
    const ended = this.#ended
    if (ended.length < 2) return
    const sum = await runInTurns(sumOf(ended))
    if (this.#ended === ended) this.#ended = [sum]
  }

  receive(worker: number, call: number, metrics: MetricsJson): void {
    this.#question.receive(worker, call, metrics)
  }

  /** Keeps the counters of a worker that has ended. */
  keep(worker: number): void {
    const { answers } = this.#question
    const last = answers.get(worker)
    if (last === undefined) return
    answers.delete(worker)
    this.#ended = [...this.#ended, countersOf(last)]
  }

  /** Drops the series of routes from what it keeps. */
  forgetRoutes(routes: readonly string[]): void {
    if (routes.length === 0) return
    const gone = new Set(routes)
    this.#ended = this.#ended.map((metrics) => withoutRoutes(metrics, gone))
    const { answers } = this.#question
    for (const [worker, metrics] of answers) answers.set(worker, withoutRoutes(metrics, gone))
  }
}
