// A connection to a target, one request at a time (HTTP/1.1): a client of undici's whose sockets connectTarget() opens.

import type { Socket } from 'node:net'
import { Client } from 'undici'
import type { RemoteTarget } from '../../model/remote-target.js'
import { type Connecting, connectTarget, type ReadSocket } from './connect/connect.js'
import { RemoteError, type RemoteFailure } from './connect/remote-failure.js'
import { type Answer, Exchange, type SentRequest } from './exchange.js'

/** Where to connect, and within which limits. */
export interface TargetConnectionOptions {
  readonly target: RemoteTarget
  /** Timeout of connecting, in milliseconds. */
  readonly timeoutMs: number
  /** How long an idle connection is kept, unless its server closes it before, in milliseconds. */
  readonly keepAliveMs?: number
  /** Called when the connection has closed. */
  readonly onClosed?: () => void
}

/** Longest timer of Node; a later deadline is in practice none. */
export const MAX_TIMER_MS = 2 ** 31 - 1

const MAX_HEAD_BYTES = 16 * 1024
/** Bytes for each byte of a body (a chunk of one byte has six), and those of all heads. */
const CHUNK_BYTES = 8
const MAX_HEADS_BYTES = 1024 * 1024
/** How long before the server would close it a connection is given up. */
const AHEAD_MS = 1_000

/** Error codes of a kept connection that the server closed just before it was used. */
const LOST: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/** A connection, made for the first request. */
export class TargetConnection {
  readonly #client: Client
  readonly #ending = new AbortController()
  #failure: RemoteError | undefined
  #socket: ReadSocket | undefined
  #mayOpen = false
  #maxBytes = 0
  /** The bytes of the socket after which the answer is too large. */
  #mostRead = 0

  constructor(options: TargetConnectionOptions, deps: Connecting) {
    const { target, keepAliveMs = MAX_TIMER_MS, onClosed } = options
    const timeoutMs = Math.min(options.timeoutMs, MAX_TIMER_MS)
    // Requests have a Host of their own, and the socket its own TLS.
    this.#client = new Client('http://target.invalid', {
      connect: (_options, callback) =>
        void this.#open(target, deps, timeoutMs).then(
          // It uses only what streams have.
          (socket) => callback(null, socket as Socket),
          (error: unknown) => callback(error as Error, null),
        ),
      // The caller sets the deadline.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEAD_BYTES,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      keepAliveTimeoutThreshold: AHEAD_MS,
    })
    this.#client.on('connect', () => {
      this.#socket?.on('readable', this.#onReadable)
    })
    this.#client.on('disconnect', () => onClosed?.())
  }

  /** Whether it can be used again. What its server has not read is in the way of another request. */
  get isOpen(): boolean {
    const socket = this.#socket
    return this.#failure === undefined && socket?.destroyed === false && socket.writableLength === 0
  }

  /**
   * Sends a request. Once more, over a new connection, if its server closed a kept one without a byte of an answer, but never
   * twice over a new one (RFC 9110 section 9.2.2). Rejects with RemoteError.
   */
  async exchange(request: SentRequest): Promise<Answer> {
    const kept = this.#socket
    const readBefore = kept?.bytesRead
    try {
      return await this.#send(request)
    } catch (error) {
      const isUnread = kept === this.#socket && kept?.bytesRead === readBefore
      if (kept === undefined || !isUnread || !isLost(error)) throw error
      return await this.#send(request)
    }
  }

  /** Ends it; the request under way fails. Resolves when its socket has closed. */
  destroy(reason: RemoteFailure): Promise<void> {
    this.#failure ??= new RemoteError(reason)
    this.#ending.abort()
    return this.#client.destroy(this.#failure)
  }

  #send(request: SentRequest): Promise<Answer> {
    if (this.#failure !== undefined) throw this.#failure
    const { method, path, headers, body } = request
    const exchange = new Exchange(request, () => (this.#socket?.errored ?? null) !== null)
    this.#mayOpen = true
    this.#maxBytes = request.maxBytes
    this.#limitFrom(this.#socket?.bytesRead ?? 0)
    this.#client.dispatch({ method, path, headers, body: body ?? null }, exchange)
    return exchange.answer
  }

  /** Opens a socket, one for each request: the client would go on opening them while a server closes them at once. */
  async #open(target: RemoteTarget, deps: Connecting, timeoutMs: number): Promise<ReadSocket> {
    if (!this.#mayOpen) throw new RemoteError({ type: 'broken', code: 'ECONNRESET' })
    this.#mayOpen = false
    // However long a request may take, a failing attempt must give way to the next.
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(timeoutMs)])
    this.#socket = await connectTarget(target, deps, { signal, timeoutMs })
    this.#limitFrom(0)
    return this.#socket
  }

  #limitFrom(bytesRead: number): void {
    this.#mostRead = bytesRead + CHUNK_BYTES * this.#maxBytes + MAX_HEADS_BYTES
  }

  /** Neither a reason phrase nor the extension of a chunk is limited by the client. */
  readonly #onReadable = (): void => {
    const socket = this.#socket
    if (socket === undefined || socket.bytesRead <= this.#mostRead) return
    socket.destroy(new RemoteError({ type: 'too-large', maxBytes: this.#maxBytes }))
  }
}

const isLost = (error: unknown): boolean =>
  error instanceof RemoteError && error.failure.type === 'broken' && LOST.has(error.failure.code)
