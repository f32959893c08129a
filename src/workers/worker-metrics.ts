// Collects the metrics of workers, and keeps the counters of ended ones so that no counter decreases.

import { countersOf, type MetricsJson, sumOf, withoutRoutes } from '../admin/merged-metrics.js'
import { runInTurns } from '../turns.js'
import { joinedParts, type MetricsPart } from './metrics-parts.js'
import { type AskedPlace, WorkerQuestion } from './worker-question.js'

/** The metrics of all workers. */
export class WorkerMetrics {
  readonly #places: readonly AskedPlace[]
  readonly #question: WorkerQuestion<MetricsJson>
  /** The parts of each worker's answers that have come, by call. */
  readonly #partial = new Map<number, Map<number, MetricsJson[]>>()
  #ended: readonly MetricsJson[] = []

  constructor(places: readonly AskedPlace[]) {
    this.#places = places
    this.#question = new WorkerQuestion(places, (call) => ({ type: 'metrics', call, part: 0 }))
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

  /** Takes a part of an answer, and asks for the next one. */
  receive(worker: number, { call, part, metrics, isLast }: Omit<MetricsPart, 'type'>): void {
    const calls = this.#partial.get(worker) ?? new Map<number, MetricsJson[]>()
    this.#partial.set(worker, calls)
    const parts = calls.get(call) ?? []
    // Of a call that was given up.
    if (part !== parts.length) return
    parts.push(metrics)
    if (isLast) {
      // A worker gives up the oldest of many calls, whose other parts never come.
      for (const asked of calls.keys()) if (asked <= call) calls.delete(asked)
      this.#question.receive(worker, call, joinedParts(parts))
      return
    }
    calls.set(call, parts)
    const place = this.#places.find(({ number }) => number === worker)
    place?.post({ type: 'metrics', call, part: parts.length })
  }

  /** Parts of answers that are not whole. */
  get partsHeld(): number {
    let held = 0
    for (const calls of this.#partial.values())
      for (const parts of calls.values()) held += parts.length
    return held
  }

  /** Keeps the counters of a worker that has ended. */
  keep(worker: number): void {
    this.#partial.delete(worker)
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
