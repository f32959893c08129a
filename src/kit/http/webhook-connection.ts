// One kept connection to a webhook (HTTP/1.1): sends one request at a time and reads its answer. Written by hand, because
// a general client took a fifth of the time that a guarded chat needs (decision 22b).

import type { Duplex } from 'node:stream'
import { GatehouseError } from '../errors.js'
import { type AnswerHead, AnswerHeads } from './answer-head.js'
import { AnswerReader, BadAnswer } from './answer-reader.js'
import type { ReadBuffer } from './connect/read-buffer.js'
import { RequestHeads, type SentRequest } from './request-head.js'

/** Receives the answer to one request: after onStart, either onEnd or onError is called once. */
export interface AnswerHandler {
  /**
   * Called before the request is sent. false: it is no longer wanted, and nothing is called any more. abort: closes the
   * connection, and calls onError with the reason.
   */
  onStart(abort: (reason: Error) => void): boolean
  onHead(head: AnswerHead): void
  /** bytes: valid only until it returns, as they may be in a buffer that is used again. */
  onData(bytes: Buffer): void
  onEnd(): void
  /** hasBegun: whether some of the answer, or of an interim one, had arrived. */
  onError(error: unknown, hasBegun: boolean): void
}

/** The handler of a call, which learns whether its connection was open before. */
export interface CallHandler extends AnswerHandler {
  wasKept: boolean
  /** Whether a kept connection has lost the call: the others may be lost too. */
  readonly isRepeated: boolean
  /** Called before a connection is made for the call. */
  onConnect(): void
}

/** Sends calls over connections. */
export interface CallDispatcher {
  dispatch(request: SentRequest, handler: CallHandler): void
}

/** Called when the connection has become idle, or has closed. */
export interface ConnectionEvents {
  /** serverKeepsMs: how long the server keeps it, if it said so. */
  idle(connection: WebhookConnection, serverKeepsMs: number | undefined): void
  closed(connection: WebhookConnection): void
}

/** Methods after whose body servers read the next request; others may take the body for it. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])
/** Longer bodies are not copied to leave with their head. */
const COPIED_BYTES = 64 * 1024
/** Bytes read before others have their turn: Node reads up to 2 MiB in a row if it can. */
const TURN_BYTES = 64 * 1024

/** The connection closed before its answer was complete. */
class LostConnection extends GatehouseError {
  readonly code = 'ECONNRESET'

  constructor() {
    super('the connection was closed')
  }
}

/** A kept connection. */
export class WebhookConnection {
  /** When it closes unless it is used, by the pool's clock; set by the pool. */
  expires = Infinity

  #handler: AnswerHandler | undefined
  #reader: AnswerReader | undefined
  readonly #heads = new AnswerHeads()
  readonly #requests = new RequestHeads()
  #isReusable = true
  /** A request that waits for the turn to end in which the answer before it ended. */
  #waiting: (() => void) | undefined
  /** Whether bytes that follow the last answer may still be unread. */
  #isFresh = false
  #failure: unknown
  #readOfTurn = 0
  #isPaused = false

  /** reads: gets what the socket reads, if it has no 'data' events. */
  constructor(
    private readonly socket: Duplex,
    private readonly events: ConnectionEvents,
    reads?: ReadBuffer,
  ) {
    // Also without these events: an unread socket would not end.
    socket.on('data', (bytes: Buffer) => this.#onBytes(bytes))
    reads?.passTo((bytes) => this.#onBytes(bytes))
    if (reads?.hasDropped === true) socket.destroy()
    socket.on('end', () => this.#onServerEnd())
    socket.on('error', (error) => this.#onSocketError(error))
    socket.on('close', () => this.#onClose())
  }

  get isOpen(): boolean {
    return !this.socket.destroyed && this.#isReusable
  }

  /** Sends a request; the connection must be idle. false: it still is. @throws {BadAnswer} it cannot be written. */
  send(request: SentRequest, handler: AnswerHandler): boolean {
    const head = this.#requests.headOf(request)
    if (!handler.onStart((reason) => this.#abort(reason))) return false
    const { method, body } = request
    this.#handler = handler
    this.#reader = new AnswerReader(handler, method === 'HEAD', this.#heads)
    this.#isReusable = WITH_BODY.has(method)
    const write = (): void => this.#write(head, body)
    // Whatever the server sends after an answer must not be taken for the next one.
    if (this.#isFresh) this.#waiting = write
    else write()
    return true
  }

  /** Closes the connection; a call under way fails. */
  destroy(): void {
    this.socket.destroy()
  }

  #abort(reason: Error): void {
    this.#failure = reason
    this.#isReusable = false
    this.#reader?.stop()
    this.socket.destroy()
    this.#fail()
  }

  #write(head: string, body: Uint8Array): void {
    const { socket } = this
    if (body.length <= COPIED_BYTES) {
      const bytes = Buffer.allocUnsafe(head.length + body.length)
      bytes.write(head, 'latin1')
      bytes.set(body, head.length)
      socket.write(bytes)
      return
    }
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(body)
    socket.uncork()
  }

  #onBytes(bytes: Buffer): void {
    const reader = this.#reader
    this.#readOfTurn += bytes.length
    if (this.#readOfTurn >= TURN_BYTES) this.#pause()
    // Bytes that answer nothing.
    if (reader === undefined || this.#waiting !== undefined) return this.destroy()
    try {
      const read = reader.read(bytes)
      if (reader.isDone) this.#finish(reader, read === bytes.length)
    } catch (error) {
      this.#abort(error instanceof Error ? error : new BadAnswer('unknown'))
    }
  }

  /** Many small chunks take milliseconds for each read. */
  #pause(): void {
    this.#readOfTurn = 0
    this.#isPaused = true
    this.socket.pause()
    setImmediate(() => {
      this.#isPaused = false
      this.socket.resume()
    })
  }

  #finish(reader: AnswerReader, isExact: boolean): void {
    const { socket } = this
    const handler = this.#handler
    // The call was aborted by one of the parts.
    if (handler === undefined) return
    this.#handler = undefined
    this.#reader = undefined
    this.#isReusable &&= isExact && reader.keepsAlive && socket.writableLength === 0
    if (this.#isReusable && !socket.destroyed) this.#rest(reader.keepAliveMs)
    else socket.destroy()
    handler.onEnd()
  }

  #rest(keepAliveMs: number | undefined): void {
    this.#isFresh = true
    // What a paused socket has received is read in the turn after this one.
    if (this.#isPaused) setImmediate(() => setImmediate(this.#onTurnEnd))
    else setImmediate(this.#onTurnEnd)
    this.events.idle(this, keepAliveMs)
  }

  readonly #onTurnEnd = (): void => {
    this.#isFresh = false
    const waiting = this.#waiting
    this.#waiting = undefined
    if (this.socket.destroyed) return
    waiting?.()
  }

  #onServerEnd(): void {
    this.#isReusable = false
    if (this.#reader?.close() === true) this.#finish(this.#reader, true)
    else this.socket.destroy()
  }

  /** Node leaves a connection open whose TLS has failed after the handshake. */
  #onSocketError(error: unknown): void {
    this.#failure ??= error
    this.socket.destroy()
  }

  #onClose(): void {
    this.#isReusable = false
    this.events.closed(this)
    this.#fail()
  }

  #fail(): void {
    const handler = this.#handler
    const hasBegun = this.#reader?.hasBegun === true
    this.#handler = undefined
    this.#reader = undefined
    this.#waiting = undefined
    handler?.onError(this.#failure ?? new LostConnection(), hasBegun)
  }
}
