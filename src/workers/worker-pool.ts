// Manages the workers: sends them tables and sockets, serves what they forward, and replaces those that end.

import type { Socket } from 'node:net'
import type { RecentDecision } from '../admin/recent-decisions.js'
import { MAX_CONNECTIONS } from '../grpc/server.js'
import type { GrpcService } from '../grpc/service.js'
import { createLogLimit } from '../log-limit.js'
import type { Logger } from '../logger.js'
import { ownFile } from '../own-files.js'
import type { Settings } from '../settings.js'
import {
  type FromWorker,
  type HandedListener,
  isOfPermits,
  isOfStream,
  PING_MS,
  type QuestionToMain,
  type ToWorker,
} from './messages.js'
import { Permits } from './permits.js'
import { type CountersFile, createCountersFile } from './shared-counters.js'
import { StreamRelay } from './stream-relay.js'
import { NO_TABLES, tableMessages, type Tables } from './table-changes.js'
import { answerTo, type WorkerAnswersDeps } from './worker-answers.js'
import { WorkerMetrics } from './worker-metrics.js'
import { WorkerPlace } from './worker-place.js'
import { WorkerQuestion } from './worker-question.js'

/** What the pool is created with. */
export interface WorkerPoolDeps extends WorkerAnswersDeps {
  readonly settings: Settings
  readonly heldBytes: number
  /** Services of the main process, whose streams workers forward. */
  readonly services: readonly GrpcService[]
  /** Called when a worker has ended and a replacement is about to be started. */
  onRestart(): void
  readonly logger: Logger
  /** Default: the compiled program beside this one. */
  readonly program?: URL
}

const PROGRAM = ownFile('dist/worker-main.js')
/** Time for workers to end after a drain. */
const END_MS = 1_000

interface Waiting {
  readonly sequence: number
  readonly done: () => void
}

const NOT_SERVING = ['serving', { type: 'serving', serving: false }] as const

/** The workers of this process. */
export class WorkerPool {
  readonly #deps: WorkerPoolDeps
  readonly #places: readonly WorkerPlace[]
  readonly #relays: readonly StreamRelay[]
  readonly #metrics: WorkerMetrics
  /** Asks for the latest lines of each worker's decision log. */
  readonly decisions: WorkerQuestion<readonly RecentDecision[]>
  readonly #permits = new Permits((worker, message) => this.#places[worker - 1]?.post(message))
  readonly #limit = createLogLimit(() => Date.now())
  #listeners: readonly HandedListener[] = []
  #counters: CountersFile | undefined
  #tables: Tables = NO_TABLES
  #sequence = 0
  /** The latest message of each type that new workers get too. */
  readonly #latest = new Map<string, ToWorker>([NOT_SERVING])
  #waiting: Waiting[] = []
  #onStarted: { readonly done: () => void; readonly failed: (error: Error) => void } | undefined
  #onGone = (): void => {}
  #pinging: NodeJS.Timeout | undefined
  #last = 0

  constructor(deps: WorkerPoolDeps) {
    this.#deps = deps
    const numbers = Array.from({ length: deps.settings.workers }, (_, index) => index + 1)
    this.#places = numbers.map((number) => this.#place(number))
    this.#relays = this.#places.map(
      (place) => new StreamRelay(deps.services, (message) => place.post(message), deps.logger),
    )
    this.#metrics = new WorkerMetrics(this.#places)
    this.decisions = new WorkerQuestion(this.#places, (call) => ({ type: 'decisions', call }))
  }

  /** Starts all workers. Resolves when all are ready. @throws {Error} one could not start: a sentence for a person. */
  async start(listeners: readonly HandedListener[]): Promise<void> {
    this.#listeners = listeners
    this.#counters = createCountersFile(this.#deps.settings.workers)
    const started = new Promise<void>((done, failed) => (this.#onStarted = { done, failed }))
    for (const place of this.#places) place.start()
    await started
    this.#pinging = setInterval(() => this.#places.forEach((place) => place.ping()), PING_MS)
    this.#pinging.unref()
  }

  /** Sends tables. Resolves when ready workers have them; new ones get them before any socket, or none before the first. */
  publish(now: Tables): Promise<void> {
    const before = this.#tables
    this.#tables = now
    this.#sequence += 1
    const messages = tableMessages(this.#sequence, before, now)
    for (const place of this.#places) place.postInTurns(messages)
    return new Promise((done) => {
      this.#waiting.push({ sequence: this.#sequence, done })
      this.#settle()
    })
  }

  /** Drops entries of keys removed by then, and the metrics of routes. vanishedBy: milliseconds since the epoch. */
  forget(vanishedBy: number, routes: readonly string[]): void {
    this.#post({ type: 'forget', vanishedBy, routes })
    this.#metrics.forgetRoutes(routes)
  }

  setOwnAddresses(addresses: readonly string[]): void {
    const before = this.#latest.get('own-addresses')
    if (before?.type === 'own-addresses' && before.addresses === addresses) return
    this.#postLatest({ type: 'own-addresses', addresses })
  }

  setProbeSecret(secret: Uint8Array): void {
    this.#postLatest({ type: 'probe-secret', secret })
  }

  #postLatest(message: ToWorker): void {
    this.#latest.set(message.type, message)
    this.#post(message)
  }

  keySetAnswered(id: string, answers: number): void {
    this.#post({ type: 'key-set-answers', id, answers })
  }

  setServing(serving: boolean): void {
    this.#postLatest({ type: 'serving', serving })
  }

  /** Passes a socket to the preferred worker if ready, else to the one with the fewest connections of the listener. */
  hand(listener: number, socket: Socket, preferred?: number): void {
    socket.on('error', () => {})
    const place = this.#choose(listener, preferred)
    if (place === undefined) {
      const leftOut = this.#limit.take('refused')
      if (leftOut !== undefined)
        this.#deps.logger.warn({ leftOut }, 'a connection was refused: no worker can take it')
      socket.destroy()
      return
    }
    place.connections[listener] = (place.connections[listener] ?? 0) + 1
    place.post({ type: 'socket', listener }, socket)
  }

  connections(): number {
    return this.#places.flatMap(({ connections }) => connections).reduce((sum, one) => sum + one, 0)
  }

  /** Returns why the pool is not ready; empty if all workers have the current tables. */
  obstacles(): readonly string[] {
    return this.#places.flatMap(({ number, isReady, taken }) => {
      if (!isReady) return [`worker ${number} is starting`]
      return taken < this.#sequence ? [`worker ${number} has not taken the last change yet`] : []
    })
  }

  /** Returns the metrics of all workers, including ended ones, in the format of a registry's getMetricsAsJSON(). */
  metrics(): Promise<readonly (readonly object[])[]> {
    return this.#metrics.collect()
  }

  /** Returns the process ids, for tests and the log. */
  pids(): readonly (number | undefined)[] {
    return this.#places.map(({ pid }) => pid)
  }

  /** Lets work under way finish within that time, then ends the workers. */
  async drain(timeoutMs: number): Promise<void> {
    for (const place of this.#places) place.retire()
    this.#post({ type: 'drain', timeoutMs })
    await this.#gone(timeoutMs + END_MS)
    await this.close()
  }

  async close(): Promise<void> {
    clearInterval(this.#pinging)
    for (const place of this.#places) place.close()
    await this.#gone(END_MS)
    this.#counters?.close()
    this.#counters = undefined
    for (const { done } of this.#waiting.splice(0)) done()
  }

  #place(number: number): WorkerPlace {
    return new WorkerPlace(number, {
      program: this.#deps.program ?? PROGRAM,
      counters: () => this.#counters?.fd ?? -1,
      logger: this.#deps.logger,
      first: () => this.#first(number),
      onMessage: (message) => this.#receive(number, message),
      onReady: () => {
        if (this.#places.every(({ isReady }) => isReady)) this.#onStarted?.done()
      },
      onGone: () => {
        this.#relays[number - 1]?.close()
        this.#metrics.keep(number)
        this.#permits.forget(number)
        this.#counters?.clear(number)
        this.#settle()
        this.#onGone()
      },
      onRestart: () => this.#deps.onRestart(),
      onHopeless: (why) =>
        this.#onStarted?.failed(new Error(`worker ${number} did not start: ${why}`)),
    })
  }

  #first(worker: number): readonly Iterable<ToWorker>[] {
    const { settings, services, heldBytes } = this.#deps
    const start: ToWorker = {
      type: 'start',
      start: {
        ...{ worker, workers: settings.workers, heldBytes, listeners: this.#listeners },
        settings: { ...settings, environment: { ...settings.environment } },
        relayed: services.map(({ name, methods }) => ({ name, methods: Object.keys(methods) })),
      },
    }
    const tables =
      this.#sequence === 0 ? [] : tableMessages(this.#sequence, NO_TABLES, this.#tables)
    return [[start, ...this.#latest.values()], tables]
  }

  #receive(worker: number, message: FromWorker): void {
    switch (message.type) {
      case 'taken':
        return this.#settle()
      case 'metrics':
        return this.#metrics.receive(worker, message)
      case 'decisions':
        return this.decisions.receive(worker, message.call, message.lines)
      case 'admit':
      case 'refetch':
        return void this.#answer(worker, message)
      default:
        if (isOfPermits(message)) this.#permits.receive(worker, message)
        else if (isOfStream(message)) this.#relays[worker - 1]?.receive(message)
    }
  }

  async #answer(worker: number, question: QuestionToMain): Promise<void> {
    const place = this.#places[worker - 1]
    const pid = place?.pid
    const answer = await answerTo(question, this.#deps)
    // A worker that has replaced the asking one gives its own questions the same numbers.
    if (place?.pid === pid) place?.post(answer)
  }

  #choose(listener: number, preferred: number | undefined): WorkerPlace | undefined {
    const own = preferred === undefined ? undefined : this.#places[preferred - 1]
    if (own?.isReady === true) return own
    const ready = this.#places.filter(({ isReady }) => isReady)
    if (this.connections() >= MAX_CONNECTIONS) return undefined
    // Begins after the worker chosen last, so that equals take turns.
    this.#last += 1
    const turns = ready.map((_, index) => ready[(this.#last + index) % ready.length])
    const countOf = (place: WorkerPlace | undefined): number => place?.connections[listener] ?? 0
    const fewest = Math.min(...turns.map(countOf))
    return turns.find((place) => countOf(place) === fewest)
  }

  /** Resolves publications, in order, once all ready workers have taken their tables. */
  #settle(): void {
    const taken = Math.min(
      this.#sequence,
      ...this.#places.filter(({ isReady }) => isReady).map((place) => place.taken),
    )
    const settled = this.#waiting.filter(({ sequence }) => sequence <= taken)
    this.#waiting = this.#waiting.filter(({ sequence }) => sequence > taken)
    for (const { done } of settled) done()
  }

  #post(message: ToWorker): void {
    for (const place of this.#places) place.post(message)
  }

  /** Waits until all workers have ended, but no longer than timeoutMs. */
  #gone(timeoutMs: number): Promise<void> {
    const areGone = (): boolean => this.#places.every(({ pid }) => pid === undefined)
    if (areGone()) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs)
      this.#onGone = () => {
        if (!areGone()) return
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
