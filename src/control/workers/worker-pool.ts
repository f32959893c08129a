// Manages the workers: sends them tables and sockets, serves what they forward, and replaces those that end.

import type { Socket } from 'node:net'
import { createLogLimit } from '../../kit/log-limit.js'
import type { Logger } from '../../kit/logger.js'
import { ownFile } from '../../kit/own-files.js'
import { inTurns } from '../../kit/turns.js'
import { ENVOY_TOKEN_HEADER } from '../../model/names.js'
import {
  countersOf,
  type MetricsJson,
  sumOf,
  withoutRoutes,
} from '../../ops/admin/merged-metrics.js'
import type { RecentDecision } from '../../ops/admin/recent-decisions.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { Authenticator } from '../../wire/grpc/authenticated.js'
import type { Peer } from '../../wire/grpc/peer.js'
import { MAX_CONNECTIONS } from '../../wire/grpc/server.js'
import type { GrpcService } from '../../wire/grpc/service.js'
import { GrpcError, Status } from '../../wire/grpc/status.js'
import {
  type Admission,
  type FromWorker,
  type HandedListener,
  isOfPermits,
  isOfStream,
  PING_MS,
  type QuestionToMain,
  type RefetchedKeySet,
  type ToWorker,
} from './messages.js'
import { joinedParts, type MetricsPart } from './metrics-parts.js'
import { Permits } from './permits.js'
import { type CountersFile, createCountersFile } from './shared-counters.js'
import { StreamRelay } from './stream-relay.js'
import { NO_TABLES, tableMessages, type Tables } from './table-changes.js'
import { WorkerPlace } from './worker-place.js'
import { type AskedPlace, WorkerQuestion } from './worker-question.js'

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

  /** Returns the metrics of all workers, including ended ones. */
  metrics(): Promise<readonly MetricsJson[]> {
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
        worker,
        workers: settings.workers,
        heldBytes,
        listeners: this.#listeners,
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

// Collects the metrics of workers, and keeps the counters of ended ones so that no counter decreases.

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
    const sum = await sumOf(parts.map(countersOf))
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

// In the main process: answers what workers ask, because one process asks key sets and the API server for all of them.

/** Knows Envoys by their tokens. */
export interface WorkerTokens extends Authenticator {
  /** Returns the only Gateway that the peer serves; undefined: a peer with other rights. */
  gatewayOf(peer: Peer): string | undefined
}

/** What the answers come from. */
interface WorkerAnswersDeps {
  /** Fetches a key set. Resolves when the result is in the tables. */
  refetchKeySet(id: string): Promise<RefetchedKeySet>
  /** Absent: no client needs a token, and no worker asks. */
  readonly tokens?: WorkerTokens | undefined
}

/** Returns the answer to a question of a worker. */
export async function answerTo(
  question: QuestionToMain,
  deps: WorkerAnswersDeps,
): Promise<ToWorker> {
  const { call } = question
  if (question.type === 'admit')
    return { type: 'admission', call, admission: await admissionOf(question, deps.tokens) }
  const keySet = await deps.refetchKeySet(question.id).catch(() => ({
    isAnswered: false,
    isOlder: false,
    answers: 0,
  }))
  return { type: 'refetched', call, keySet }
}

async function admissionOf(
  { peer, tokens: values }: Extract<QuestionToMain, { readonly type: 'admit' }>,
  tokens: WorkerTokens | undefined,
): Promise<Admission> {
  try {
    if (tokens === undefined) throw new GrpcError(Status.UNAVAILABLE, 'no tokens are known')
    await tokens.admit({
      peer,
      deadline: Infinity,
      isCancelled: () => false,
      metadata: (name) => (name === ENVOY_TOKEN_HEADER ? values : []),
    })
    return { gateway: tokens.gatewayOf(peer) }
  } catch (error) {
    const { status, message } =
      error instanceof GrpcError ? error : new GrpcError(Status.UNKNOWN, 'the call failed')
    return { refusal: { status, details: message } }
  }
}
