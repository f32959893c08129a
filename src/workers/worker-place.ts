// One slot of the worker pool: restarts its worker when it ends, and kills it when it does not answer.

import type { Socket } from 'node:net'
import type { Logger } from '../logger.js'
import type { FromWorker, ToWorker } from './messages.js'
import { Outbox } from './outbox.js'
import { startWorkerProcess, type WorkerProcess } from './worker-process.js'

/** What workers are started and watched with. */
export interface PlaceDeps {
  readonly program: URL
  /** Returns the descriptor of the counters file, as passed to startWorkerProcess(). */
  counters(): number
  readonly logger: Logger
  /** Returns the first messages to a new worker. */
  first(): readonly Iterable<ToWorker>[]
  onMessage(message: FromWorker): void
  /** Called when the worker is ready for sockets. */
  onReady(): void
  /** Called when the worker has ended, and its connections with it. */
  onGone(): void
  /** Called when a replacement is about to be started. */
  onRestart(): void
  /** Called when its worker ended before any was ready. why: a sentence for a person. */
  onHopeless(why: string): void
}

const FIRST_RESTART_MS = 200
const LAST_RESTART_MS = 10_000
/** Running time after which a worker counts as healthy, which resets the restart delay. */
const HEALTHY_MS = 60_000
/** Maximum unanswered pings, one every two seconds, before a hanging worker is killed. */
const MOST_UNANSWERED = 15

/** A slot with its worker. */
export class WorkerPlace {
  readonly number: number
  /** Number of its worker's connections, by listener. */
  connections: number[] = []
  /** Sequence of the last tables in force. */
  taken = 0
  isReady = false
  #child: WorkerProcess | undefined
  #outbox: Outbox | undefined
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
    this.#outbox = new Outbox((message, socket) => started.post(message, socket))
    for (const messages of this.deps.first()) this.#outbox.postInTurns(messages)
  }

  /** Sends a message behind all others. */
  post(message: ToWorker, socket?: Socket): void {
    if (this.#outbox === undefined) socket?.destroy()
    else this.#outbox.post(message, socket)
  }

  /** Sends messages in several turns of the event loop. */
  postInTurns(messages: Iterable<ToWorker>): void {
    this.#outbox?.postInTurns(messages)
  }

  /** Sends a ping, or kills a worker with too many unanswered ones. */
  ping(): void {
    if (!this.isReady) return
    this.#unanswered += 1
    if (this.#unanswered <= MOST_UNANSWERED) return this.post({ type: 'ping' })
    this.#failure = 'it did not answer'
    this.#child?.kill()
  }

  /** Kills the worker for good. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#restart)
    this.#child?.kill()
  }

  /** Lets the worker end without a restart. */
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
    this.#outbox?.close()
    this.#outbox = undefined
    this.isReady = false
    this.taken = 0
    this.connections = []
    this.deps.onGone()
    if (this.#isClosed) return
    if (!this.#wasReady) return this.deps.onHopeless(why)
    if (performance.now() - this.#startedAt > HEALTHY_MS) this.#restartMs = FIRST_RESTART_MS
    this.deps.logger.error(
      { worker: this.number, why, restartInMs: this.#restartMs },
      'a worker exited; restarting it',
    )
    this.deps.onRestart()
    this.#restart = setTimeout(() => this.start(), this.#restartMs)
    this.#restartMs = Math.min(this.#restartMs * 2, LAST_RESTART_MS)
  }
}
