// One call of a streaming method: delivers messages to its listener one by one, as fast as it takes them.

import type { RequestHead } from '../http2/request-head.js'
import type { Stream, StreamHandler } from '../http2/stream.js'
import { valuesOf } from './call-head.js'
import { endOfMessage, MessageReader, PREFIX_BYTES, prefixOf } from './message-reader.js'
import type { Peer } from './peer.js'
import type { StreamCall, StreamListener, StreamMethod } from './service.js'
import {
  encodeTrailers,
  encodeTrailersOnly,
  GrpcError,
  RESPONSE_HEADERS,
  Status,
} from './status.js'
import { type CallConnection, lateMessage } from './unary-call.js'

/** A call of a streaming method. */
export class MessageStream implements StreamCall, StreamHandler {
  readonly deadline: number
  readonly #stream: Stream
  readonly #head: RequestHead
  readonly #connection: CallConnection
  readonly #reader: MessageReader
  #listener: StreamListener | undefined
  #method: StreamMethod | undefined
  #timer: NodeJS.Timeout | undefined
  /** When the first message, or one that has begun to arrive, must be whole, by now(); undefined: none is awaited. */
  #arrivesBy: number | undefined
  #hasMessage = false
  /** Received bytes not yet returned to the client's window. */
  #untaken = 0
  #isPaused = false
  #isDelivering = false
  #hasResponded = false
  #hasEnded = false
  #isOver = false

  constructor(
    stream: Stream,
    head: RequestHead,
    timeoutMs: number | undefined,
    connection: CallConnection,
  ) {
    this.#stream = stream
    this.#head = head
    this.#connection = connection
    this.#reader = new MessageReader(connection.held)
    this.#awaitMessage()
    this.deadline = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs
    if (timeoutMs === undefined) return
    const late = new GrpcError(Status.DEADLINE_EXCEEDED, 'the deadline has passed')
    this.#timer = setTimeout(() => this.#fail(late), timeoutMs)
  }

  get peer(): Peer {
    return this.#connection.peer
  }

  /** Opens the method, which may send messages or end the call before it returns. */
  open(method: StreamMethod): void {
    this.#method = method
    this.#guard(() => {
      const listener = method.open(this)
      if (!this.#isOver) this.#listener = listener
    })
  }

  isCancelled(): boolean {
    return this.#isOver
  }

  metadata(name: string): readonly string[] {
    return valuesOf(this.#head, name)
  }

  send(message: Uint8Array): boolean {
    if (this.#isOver) return true
    this.#respond()
    return this.#stream.send(prefixOf(message), message)
  }

  sendParts(parts: readonly Buffer[]): boolean {
    if (this.#isOver) return true
    this.#respond()
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    return this.#stream.sendParts([Buffer.from(prefixOf({ length })), ...parts])
  }

  #respond(): void {
    if (!this.#hasResponded) this.#stream.respond(RESPONSE_HEADERS)
    this.#hasResponded = true
  }

  end(status: Status = Status.OK, details = ''): void {
    if (this.#isOver) return
    this.#finish()
    if (this.#hasResponded) this.#stream.end(encodeTrailers(status, details))
    else this.#stream.respond(encodeTrailersOnly(status, details), true)
  }

  pause(): void {
    this.#isPaused = true
    this.#arrivesBy = undefined
  }

  resume(): void {
    this.#isPaused = false
    this.#deliver()
  }

  onData(bytes: Buffer): void {
    if (this.#isOver) return
    this.#untaken += bytes.length
    if (this.#isPaused || this.#isDelivering || this.#reader.length > 0) {
      this.#guard(() => this.#reader.push(bytes))
      return this.#deliver()
    }
    this.#isDelivering = true
    this.#guard(() => this.#deliverWhole(bytes))
    this.#isDelivering = false
    this.#deliver()
  }

  /** Delivers whole messages without a copy, as most arrive whole; buffers the rest. */
  #deliverWhole(bytes: Buffer): void {
    let from = 0
    while (!this.#isPaused && !this.#isOver) {
      const end = endOfMessage(bytes, from, bytes.length)
      if (end === undefined) break
      this.#took()
      this.#listener?.onMessage(bytes.subarray(from + PREFIX_BYTES, end))
      from = end
    }
    if (from < bytes.length && !this.#isOver) this.#reader.push(bytes.subarray(from))
  }

  /** Ends a call whose client does not send its first message, or the rest of one. Time between messages does not count. */
  onTick(): void {
    if (this.#arrivesBy !== undefined && this.#connection.now() >= this.#arrivesBy)
      this.#fail(lateMessage())
  }

  onEnd(): void {
    this.#hasEnded = true
    this.#deliver()
  }

  onReset(): void {
    this.#cancel()
  }

  onDrain(): void {
    this.#guard(() => this.#listener?.onDrain())
  }

  #deliver(): void {
    // If a listener resumes while it handles a message, it gets the next one afterwards.
    if (this.#isDelivering) return
    this.#isDelivering = true
    this.#guard(() => this.#deliverAll())
    this.#isDelivering = false
  }

  #deliverAll(): void {
    while (!this.#isPaused && !this.#isOver) {
      const message = this.#reader.next()
      if (message === undefined) break
      this.#took()
      this.#listener?.onMessage(message)
    }
    this.#awaitMessage()
    if (this.#isPaused || this.#isOver) return
    // The rest is the beginning of a message, which may be longer than the window.
    this.#stream.consume(this.#untaken)
    this.#untaken = 0
    if (!this.#hasEnded) return
    if (this.#reader.length > 0) throw new GrpcError(Status.INTERNAL, 'a message without its end')
    this.#hasEnded = false
    this.#listener?.onEnd()
  }

  #took(): void {
    this.#hasMessage = true
    this.#arrivesBy = undefined
  }

  #awaitMessage(): void {
    const isAwaited = !this.#hasMessage || this.#reader.length > 0
    // A client that is held back cannot send the rest.
    if (this.#isPaused || this.#isOver || !isAwaited) this.#arrivesBy = undefined
    else this.#arrivesBy ??= this.#connection.now() + this.#connection.arrivalMs
  }

  #guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      if (!(error instanceof GrpcError)) this.#connection.onFault(error)
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    const listener = this.#listener
    this.#refuse(listener ?? this.#method, error)
    if (error instanceof GrpcError) this.end(error.status, error.message)
    else this.end(Status.UNKNOWN, 'the call failed')
    this.#guard(() => listener?.onCancel())
  }

  #refuse(by: Pick<StreamListener, 'refusal'> | undefined, error: unknown): void {
    try {
      const refusal = by?.refusal?.(error)
      if (refusal !== undefined) this.send(refusal)
    } catch (fault) {
      this.#connection.onFault(fault)
    }
  }

  #cancel(): void {
    if (this.#isOver) return
    const listener = this.#listener
    this.#finish()
    this.#guard(() => listener?.onCancel())
  }

  /** Finishes the call and drops its listener: a map that held the call may keep it alive for a while. */
  #finish(): void {
    this.#isOver = true
    this.#listener = undefined
    this.#reader.clear()
    clearTimeout(this.#timer)
  }
}
