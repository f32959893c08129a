// In a worker: the queues in front of webhooks whose connections are limited for all workers together. A permit stays
// with its connection, even an idle one, until another worker waits for it.

import {
  createLine,
  createSharedLine,
  MOST_WAITING,
  type SharedLine,
  type WebhookLine,
} from '../../kit/http/webhook-line.js'
import type { WebhookLines } from '../../kit/http/webhook-pools.js'
import type { PermitsToMain, PermitsToWorker } from './messages.js'

type OpenConnections = Parameters<WebhookLines['open']>[2]

/** The queues of one worker. */
export class PermitLines implements WebhookLines {
  readonly #lines = new Map<string, PermitLine>()

  constructor(
    private readonly workers: number,
    private readonly post: (message: PermitsToMain) => void,
    /** Milliseconds of a monotonic clock. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  open(key: string, max: number, connections: OpenConnections): WebhookLine {
    if (max === 0) return createLine(max)
    const { workers, post, now } = this
    const line = new PermitLine({ key, max, connections, workers, post, now })
    this.#lines.set(key, line)
    return { enter: (phase, start) => line.line.enter(phase, start), leave: () => line.leave() }
  }

  receive({ type, key, count }: PermitsToWorker): void {
    const line = this.#lines.get(key)
    if (type === 'permits-granted') line?.grant(count)
    else line?.recall(count)
  }
}

interface PermitLineDeps {
  readonly key: string
  readonly max: number
  readonly connections: OpenConnections
  readonly workers: number
  readonly post: (message: PermitsToMain) => void
  readonly now: () => number
}

/** How long recalled permits still serve calls that wait here: a new connection per call would cost more. */
const TURN_MS = 50

class PermitLine {
  readonly line: SharedLine
  #permits = 0
  /** Permits recalled and not yet returned. */
  #owed = 0
  #askedAt = 0
  /** Number of waiting calls as known to the main process. */
  #waitingThere = 0

  constructor(private readonly deps: PermitLineDeps) {
    this.line = createSharedLine({
      most: () => this.#permits,
      mostWaiting: Math.ceil(MOST_WAITING / deps.workers),
      onWaiting: (waiting) => this.#tell(waiting),
      onEnd: (running) => this.#giveBack(running),
    })
  }

  /** Ends a call, whose connection can take the next one already. */
  leave(): void {
    this.line.leave()
  }

  grant(count: number): void {
    this.#permits += count
    this.#waitingThere = Math.max(0, this.#waitingThere - count)
    this.line.startFree()
  }

  recall(count: number): void {
    if (this.#owed === 0) this.#askedAt = this.deps.now()
    this.#owed += count
    this.#giveBack(this.line.running())
  }

  /** Reports the number of waiting calls if it has grown or become 0; a smaller change is not worth a message. */
  #tell(waiting: number): void {
    if (waiting === this.#waitingThere || (waiting > 0 && waiting < this.#waitingThere)) return
    this.#waitingThere = waiting
    const { key, max, post } = this.deps
    post({ type: 'permits-wanted', key, max, waiting })
  }

  #giveBack(running: number): void {
    const count = Math.min(this.#owed, this.#permits - running)
    const isTurn = this.line.waiting() > 0 && this.deps.now() - this.#askedAt < TURN_MS
    if (count <= 0 || isTurn) return
    this.#owed -= count
    this.#permits -= count
    void this.#return(count)
  }

  /** Returns permits once their connections are closed. */
  async #return(count: number): Promise<void> {
    await this.deps.connections.trim(this.#permits)
    this.deps.post({ type: 'permits-returned', key: this.deps.key, count })
  }
}
