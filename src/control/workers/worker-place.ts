// One slot of the worker pool: restarts its worker when it ends, and kills it when it does not answer.

import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../../kit/logger.js'
import type { FromWorker, ToWorker } from './messages.js'

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

// Sends the messages of a worker in order. Those of a list leave one in each turn of the event loop, as writing one takes
// as long as its content, and a change of all tables is hundreds.

type Waiting = Iterator<ToWorker, void> | { readonly message: ToWorker; readonly socket?: Socket }

/** The messages that a worker has not been sent yet. */
export class Outbox {
  readonly #send: (message: ToWorker, socket?: Socket) => void
  #waiting: Waiting[] = []
  #isClosed = false

  constructor(send: (message: ToWorker, socket?: Socket) => void) {
    this.#send = send
  }

  /** Sends a message: at once if none waits. */
  post(message: ToWorker, socket?: Socket): void {
    if (this.#isClosed) socket?.destroy()
    else if (this.#waiting.length === 0) this.#send(message, socket)
    else this.#waiting.push(socket === undefined ? { message } : { message, socket })
  }

  /** Sends messages in several turns, the first one at once if none waits. They are made as they are sent. */
  postInTurns(messages: Iterable<ToWorker>): void {
    if (this.#isClosed) return
    this.#waiting.push(messages[Symbol.iterator]())
    if (this.#waiting.length === 1) this.#sendNext()
  }

  /** Drops what waits, and closes its sockets. */
  close(): void {
    this.#isClosed = true
    for (const each of this.#waiting.splice(0)) if ('message' in each) each.socket?.destroy()
  }

  /** Sends up to the next message of a list. */
  #sendNext(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if ('message' in first) {
        this.#waiting.shift()
        this.#send(first.message, first.socket)
        continue
      }
      const next = first.next()
      if (next.done !== true) {
        this.#send(next.value)
        return void setImmediate(() => this.#sendNext())
      }
      this.#waiting.shift()
    }
  }
}

// Starts a worker as a child process, and exchanges messages with it.

/** A running worker. */
interface WorkerProcess {
  readonly pid: number | undefined
  /** Sends messages in order. If the worker has ended, or ends before it gets the message, closes the socket. */
  post(message: ToWorker, socket?: Socket): void
  /** Kills it immediately (SIGKILL); onExit follows. */
  kill(): void
}

/** What a worker is started with. */
export interface WorkerProcessOptions {
  /** The compiled program. */
  readonly program: URL
  /** Descriptor of the file that becomes COUNTERS_FD in the worker. */
  readonly counters: number
  onMessage(message: FromWorker): void
  /** Called once when the worker has ended. why: a sentence for the log. */
  onExit(why: string): void
}

/** Starts a worker. */
function startWorkerProcess(options: WorkerProcessOptions): WorkerProcess {
  // A worker writes nothing to its standard output but the decision log, where the operator wants it there.
  const child = fork(fileURLToPath(options.program), [], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', options.counters],
  })
  // Sockets that have not been sent. Node sends one at a time and forgets the others when the worker ends.
  const waiting = new Set<Socket>()
  let isOver = false
  const end = (why: string): void => {
    if (isOver) return
    isOver = true
    for (const socket of waiting) socket.destroy()
    options.onExit(why)
  }
  child.on('message', (message) => options.onMessage(message as FromWorker))
  child.once('error', (error) => {
    child.kill('SIGKILL')
    end(error.message)
  })
  child.once('exit', (code, signal) =>
    end(signal === null ? `exit code ${String(code)}` : `killed by ${signal}`),
  )
  return {
    pid: child.pid,
    post(message, socket) {
      if (!child.connected) return void socket?.destroy()
      if (socket !== undefined) waiting.add(socket)
      // This process keeps its copy of a socket until it is sent. What the worker does not take by its end, the kernel closes.
      child.send(message, socket, { keepOpen: true }, () => {
        if (socket !== undefined && waiting.delete(socket)) socket.destroy()
      })
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
