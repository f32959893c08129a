// One of the places of a pool: its worker is started again when it ends, and ended when it does not answer.

import type { Socket } from 'node:net'
import type { Logger } from '../logger.js'
import type { FromWorker, ToWorker } from './messages.js'
import { startWorkerProcess, type WorkerProcess } from './worker-process.js'

export interface PlaceDeps {
  readonly program: URL
  /** As startWorkerProcess takes it. */
  counters(): number
  readonly logger: Logger
  /** What a new worker is told before anything else. */
  first(): readonly ToWorker[]
  onMessage(message: FromWorker): void
  /** It waits for sockets. */
  onReady(): void
  /** Its connections have ended with it. */
  onGone(): void
  /** Another worker is started in its place. */
  onRestart(): void
  /** Before its worker was ever ready: a sentence for a person. */
  onHopeless(why: string): void
}

const FIRST_RESTART_MS = 200
const LAST_RESTART_MS = 10_000
/** One that ran so long was fine: the next end starts from the shortest wait again. */
const HEALTHY_MS = 60_000
/** So many questions without an answer, one in two seconds: a worker that stands still serves nobody. */
const MOST_UNANSWERED = 15

export class WorkerPlace {
  readonly number: number
  /** Of its worker's connections, by listener. */
  connections: number[] = []
  /** The last tables that it has in force. */
  taken = 0
  isReady = false
  #child: WorkerProcess | undefined
  #wasReady = false
  #isClosed = false
  #restartMs = FIRST_RESTART_MS
  #restart: NodeJS.Timeout | undefined
  #startedAt = 0
  #unanswered = 0
  #failure: string | undefined

  constructor(
    number: number,
    private readonly deps: PlaceDeps,
  ) {
    this.number = number
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  start(): void {
    this.#startedAt = performance.now()
    this.#unanswered = 0
    this.#failure = undefined
    const started = startWorkerProcess({
      program: this.deps.program,
      counters: this.deps.counters(),
      onMessage: (message) => {
        if (this.#child === started) this.#receive(message)
      },
      onExit: (why) => {
        if (this.#child === started) this.#ended(this.#failure ?? why)
      },
    })
    this.#child = started
    for (const message of this.deps.first()) started.post(message)
  }

  post(message: ToWorker, socket?: Socket): void {
    if (this.#child === undefined) socket?.destroy()
    else this.#child.post(message, socket)
  }

  /** Asks for a sign of life, and ends a worker that has given none for long. */
  ping(): void {
    if (!this.isReady) return
    this.#unanswered += 1
    if (this.#unanswered <= MOST_UNANSWERED) return this.post({ type: 'ping' })
    this.#failure = 'it did not answer'
    this.#child?.kill()
  }

  /** For good. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#restart)
    this.#child?.kill()
  }

  /** Its worker may end by itself now, and is not started again. */
  retire(): void {
    this.#isClosed = true
    clearTimeout(this.#restart)
  }

  #receive(message: FromWorker): void {
    if (message.type === 'pong') {
      this.#unanswered = 0
    } else if (message.type === 'failed') {
      this.#failure = message.message
    } else if (message.type === 'ready') {
      this.isReady = true
      this.#wasReady = true
      this.deps.onReady()
    } else {
      if (message.type === 'taken') this.taken = message.sequence
      if (message.type === 'closed') this.#closed(message.listener)
      this.deps.onMessage(message)
    }
  }

  #closed(listener: number): void {
    this.connections[listener] = (this.connections[listener] ?? 1) - 1
  }

  #ended(why: string): void {
    this.#child = undefined
    this.isReady = false
    this.taken = 0
    this.connections = []
    this.deps.onGone()
    if (this.#isClosed) return
    if (!this.#wasReady) return this.deps.onHopeless(why)
    if (performance.now() - this.#startedAt > HEALTHY_MS) this.#restartMs = FIRST_RESTART_MS
    this.deps.logger.error(
      { worker: this.number, why, restartInMs: this.#restartMs },
      'a worker ended; starting it again',
    )
    this.deps.onRestart()
    this.#restart = setTimeout(() => this.start(), this.#restartMs)
    this.#restartMs = Math.min(this.#restartMs * 2, LAST_RESTART_MS)
  }
}
