// Collects the metrics of workers, and keeps the counters of ended ones so that no counter decreases.

import { countersOf, type MetricsJson, sumOf, withoutRoutes } from '../admin/merged-metrics.js'
import { inTurns, runInTurns } from '../turns.js'
import { joinedParts, type MetricsPart } from './metrics-parts.js'
import { type AskedPlace, WorkerQuestion } from './worker-question.js'

/** Metrics of a worker, from which routes that are gone are dropped in slices. */
interface Held {
  metrics: MetricsJson
}

/** The metrics of all workers. */
export class WorkerMetrics {
  readonly #places: readonly AskedPlace[]
  readonly #question: WorkerQuestion<Held>
  /** The parts of each worker's answers that have come, by call. */
  readonly #partial = new Map<number, Map<number, MetricsJson[]>>()
  /** Those of workers that have ended, of which only the counters count. */
  #ended: readonly Held[] = []
  /** Routes that are gone, whose series have yet to be dropped. */
  #gone = new Set<string>()
  #dropping: Promise<void> | undefined

  constructor(places: readonly AskedPlace[]) {
    this.#places = places
    this.#question = new WorkerQuestion(places, (call) => ({ type: 'metrics', call, part: 0 }))
  }

  async collect(): Promise<readonly MetricsJson[]> {
    await this.#question.ask()
    await this.#dropping
    await this.#sumEnded()
    // Read together: the counters of a worker that has ended meanwhile have moved from one to the other.
    return [
      ...this.#ended.map(({ metrics }) => countersOf(metrics)),
      ...[...this.#question.answers.values()].map(({ metrics }) => metrics),
    ]
  }

  /** Replaces the counters of ended workers by their sum, unless they change meanwhile. */
  async #sumEnded(): Promise<void> {
    const ended = this.#ended
    if (ended.length < 2) return
    const parts = ended.map(({ metrics }) => metrics)
    const sum = await runInTurns(sumOf(parts.map(countersOf)))
    const isSame =
      this.#ended === ended && ended.every(({ metrics }, index) => metrics === parts[index])
    if (isSame && this.#dropping === undefined) this.#ended = [{ metrics: sum }]
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
      this.#question.receive(worker, call, { metrics: joinedParts(parts) })
      return
    }
    calls.set(call, parts)
    this.#question.heard(call)
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
    this.#ended = [...this.#ended, last]
  }

  /** Drops the series of routes from what it keeps, in slices. */
  forgetRoutes(routes: readonly string[]): void {
    if (routes.length === 0) return
    for (const route of routes) this.#gone.add(route)
    this.#dropping ??= this.#drop().finally(() => {
      this.#dropping = undefined
    })
  }

  async #drop(): Promise<void> {
    while (this.#gone.size > 0) {
      const gone = this.#gone
      this.#gone = new Set()
      // What workers answer from now on does not have them.
      for (const held of [...this.#ended, ...this.#question.answers.values()])
        held.metrics = (await inTurns(withoutRoutes(held.metrics, gone))) ?? held.metrics
    }
  }
}
