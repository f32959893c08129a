// The kept connections to one webhook: opened by connectTarget() when none is idle, closed when idle for too long
// (decisions 22 and 30).

import type { RemoteTarget } from '../../model/remote-target.js'
import { type Connecting, connectTarget } from './connect/connect.js'
import { ReadBuffer } from './connect/read-buffer.js'
import { RemoteError } from './connect/remote-failure.js'
import type { SentRequest } from './request-head.js'
import { CONNECTION_MS } from './webhook-call.js'
import {
  type CallDispatcher,
  type CallHandler,
  type ConnectionEvents,
  WebhookConnection,
} from './webhook-connection.js'

/** Where to connect, and within which limits. */
export interface ConnectionLimits {
  readonly target: RemoteTarget
  /** How long an idle connection is kept, unless the server closes it before; 0: no limit. */
  readonly keepAliveSeconds: number
  /** Connect timeout in milliseconds. */
  readonly timeoutMs?: number | undefined
}

/** Longest timer of Node, in practice no limit. */
const NO_LIMIT_MS = 2 ** 31 - 1
/** How long before the server would close it a connection is given up. */
const AHEAD_MS = 1_000

/** A pool of connections. The caller limits how many calls run at once, and so the connections. */
export class WebhookPool implements CallDispatcher {
  readonly #open = new Set<WebhookConnection>()
  /** The one used last is at the end, and is used next. */
  #idle: WebhookConnection[] = []
  #connecting = 0
  #timer: NodeJS.Timeout | undefined
  #timerAt = Infinity
  #isClosing = false
  /** Called when a connection has closed. */
  readonly #onClosed = new Set<() => void>()
  readonly #keepAliveMs: number

  /** signal: aborts connection attempts. */
  constructor(
    private readonly limits: ConnectionLimits,
    private readonly deps: Connecting,
    private readonly signal: AbortSignal,
  ) {
    const { keepAliveSeconds } = limits
    this.#keepAliveMs = keepAliveSeconds === 0 ? NO_LIMIT_MS : keepAliveSeconds * 1000
  }

  /** Sends a request over an idle connection or a new one. */
  dispatch(request: SentRequest, handler: CallHandler): void {
    if (handler.isRepeated) this.#idle.pop()?.destroy()
    const connection = handler.isRepeated ? undefined : this.#takeIdle()
    handler.wasKept = connection !== undefined
    if (connection !== undefined) return this.#send(connection, request, handler)
    handler.onConnect()
    void this.#connect(request, handler)
  }

  /** Number of connections, open and about to be. */
  get size(): number {
    return this.#open.size + this.#connecting
  }

  /** Number of open connections without a call. */
  get idleSize(): number {
    return this.#idle.length
  }

  /** Closes up to so many idle connections, those unused for longest first; resolves when they are closed. */
  closeIdle(count: number): Promise<void> {
    const closed = this.#idle.splice(0, count)
    for (const connection of closed) connection.destroy()
    return this.#until(() => closed.every((connection) => !this.#open.has(connection)))
  }

  /** Closes idle connections now and the others after their calls. Resolves when none is left. */
  close(): Promise<void> {
    this.#isClosing = true
    clearTimeout(this.#timer)
    for (const connection of this.#idle.splice(0)) connection.destroy()
    return this.#until(() => this.size === 0)
  }

  /** Closes all connections now; calls under way fail. */
  destroy(): Promise<void> {
    for (const connection of this.#open) connection.destroy()
    return this.close()
  }

  #takeIdle(): WebhookConnection | undefined {
    for (let next = this.#idle.pop(); next !== undefined; next = this.#idle.pop()) {
      if (next.isOpen && next.expires > performance.now()) return next
      next.destroy()
    }
    return undefined
  }

  async #connect(request: SentRequest, handler: CallHandler): Promise<void> {
    const { target, timeoutMs = CONNECTION_MS } = this.limits
    this.#connecting += 1
    try {
      // However long a call may take, a failing connection attempt must give way to the next.
      const timeout = AbortSignal.timeout(Math.min(timeoutMs, NO_LIMIT_MS))
      const signal = AbortSignal.any([this.signal, timeout])
      const reads = new ReadBuffer()
      const socket = await connectTarget(target, this.deps, { signal, timeoutMs }, reads)
      const events: ConnectionEvents = {
        idle: (which, serverKeepsMs) => this.#onIdle(which, serverKeepsMs),
        closed: (which) => this.#onConnectionClosed(which),
      }
      const connection = new WebhookConnection(socket, events, reads)
      this.#open.add(connection)
      this.#send(connection, request, handler)
    } catch (error) {
      handler.onError(error instanceof Error ? error : new RemoteError({ type: 'aborted' }), false)
    } finally {
      this.#connecting -= 1
      this.#tellClosed()
    }
  }

  #send(connection: WebhookConnection, request: SentRequest, handler: CallHandler): void {
    try {
      if (!connection.send(request, handler)) this.#onIdle(connection, undefined)
    } catch (error) {
      this.#onIdle(connection, undefined)
      handler.onError(error, false)
    }
  }

  #onIdle(connection: WebhookConnection, serverKeepsMs: number | undefined): void {
    const keptMs = Math.min(this.#keepAliveMs, (serverKeepsMs ?? Infinity) - AHEAD_MS)
    if (this.#isClosing || keptMs <= 0) return connection.destroy()
    connection.expires = performance.now() + keptMs
    this.#idle.push(connection)
    if (connection.expires < this.#timerAt) this.#arm(connection.expires)
  }

  /** One timer for all connections, which is not set again at each call. */
  #arm(at: number): void {
    clearTimeout(this.#timer)
    this.#timerAt = at
    if (at === Infinity) return
    const ms = Math.min(Math.max(1, Math.ceil(at - performance.now())), NO_LIMIT_MS)
    this.#timer = setTimeout(() => this.#expire(), ms).unref()
  }

  #expire(): void {
    const now = performance.now()
    const kept: WebhookConnection[] = []
    let next = Infinity
    for (const connection of this.#idle)
      if (connection.expires <= now) connection.destroy()
      else {
        kept.push(connection)
        next = Math.min(next, connection.expires)
      }
    this.#idle = kept
    this.#arm(next)
  }

  #onConnectionClosed(connection: WebhookConnection): void {
    this.#open.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at !== -1) this.#idle.splice(at, 1)
    this.#tellClosed()
  }

  #tellClosed(): void {
    for (const look of this.#onClosed) look()
  }

  #until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!holds()) return
        this.#onClosed.delete(look)
        resolve()
      }
      this.#onClosed.add(look)
      look()
    })
  }
}
