// One call of a unary method: passes its whole message to the method and sends the answer.

import type { RequestHead } from '../http2/request-head.js'
import type { Stream, StreamHandler } from '../http2/stream.js'
import { valuesOf } from './call-head.js'
import type { HeldMessages } from './message-budget.js'
import { endOfMessage, MessageReader, PREFIX_BYTES, prefixOf } from './message-reader.js'
import type { Peer } from './peer.js'
import type { Call, UnaryMethod } from './service.js'
import { encodeTrailersOnly, GrpcError, OK_TRAILERS, RESPONSE_HEADERS, Status } from './status.js'

/** What a call needs from its connection. */
export interface CallConnection {
  readonly peer: Peer
  readonly held: HeldMessages
  /** Within how many milliseconds a message must have arrived whole: of its first byte, or of the headers of its call. */
  readonly arrivalMs: number
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Called with the internal error of a handler. */
  onFault(error: unknown): void
}

/** A class, so that all calls share one hidden class: tens of thousands are created per second. */
export class UnaryCall implements Call, StreamHandler {
  readonly deadline: number
  readonly #method: UnaryMethod
  readonly #stream: Stream
  readonly #head: RequestHead
  readonly #connection: CallConnection
  #reader: MessageReader | undefined
  #admitted: Promise<void> | undefined
  /** When the message must have arrived whole, by now(); Infinity: it has. */
  #arrivesBy: number
  #timer: NodeJS.Timeout | undefined
  #isTaken = false
  #isOver = false

  constructor(
    method: UnaryMethod,
    stream: Stream,
    head: RequestHead,
    timeoutMs: number | undefined,
    connection: CallConnection,
  ) {
    this.#method = method
    this.#stream = stream
    this.#head = head
    this.#connection = connection
    this.deadline = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs
    // From the headers on: they hold memory too, whether a message follows or not.
    this.#arrivesBy = connection.now() + connection.arrivalMs
  }

  /** Asks whether the call is served. Its answer may come before the message. */
  open(): void {
    try {
      this.#admitted = this.#method.admit?.(this)
      this.#admitted?.catch((error: unknown) => this.#fail(error))
    } catch (error) {
      this.#fail(error)
    }
  }

  get peer(): Peer {
    return this.#connection.peer
  }

  isCancelled(): boolean {
    return this.#isOver
  }

  metadata(name: string): readonly string[] {
    return valuesOf(this.#head, name)
  }

  onData(bytes: Buffer, isLast: boolean): void {
    if (this.#isOver) return
    try {
      // Most requests are one frame, which is read without a copy.
      if (isLast && this.#reader === undefined) return this.#takeAll(bytes)
      this.#reader ??= new MessageReader(this.#connection.held)
      this.#reader.push(bytes)
      this.#stream.consume(bytes.length)
    } catch (error) {
      this.#fail(error)
    }
  }

  onEnd(): void {
    if (this.#isOver || this.#isTaken) return
    try {
      const message = this.#reader?.next()
      if (message === undefined || this.#reader?.length !== 0) throw notOne()
      this.#handle(message)
    } catch (error) {
      this.#fail(error)
    }
  }

  onReset(): void {
    this.#finish()
  }

  /** Does nothing: the answer is the only message. */
  onDrain(): void {}

  /** Ends a call whose message has not arrived in time. While an async method runs, a timer does it. */
  onTick(): void {
    if (this.#connection.now() >= this.#arrivesBy) this.#fail(lateMessage())
    else if (this.#timer === undefined && Date.now() >= this.deadline) this.#endLate()
  }

  #takeAll(bytes: Buffer): void {
    this.#isTaken = true
    const end = endOfMessage(bytes, 0, bytes.length)
    if (end !== bytes.length) throw notOne()
    this.#handle(bytes.subarray(PREFIX_BYTES, end))
  }

  #handle(message: Buffer): void {
    this.#arrivesBy = Infinity
    const answer =
      this.#admitted === undefined
        ? this.#method.handle(message, this)
        : // The message is a view of a buffer that the connection uses again.
          this.#handleAfter(this.#admitted, Buffer.from(message))
    if (!(answer instanceof Promise)) return this.#answer(answer)
    if (this.deadline !== Infinity) this.#startTimer()
    void answer.then(
      (late) => this.#answer(late),
      (error: unknown) => this.#fail(error),
    )
  }

  async #handleAfter(admitted: Promise<void>, message: Buffer): Promise<Uint8Array> {
    await admitted
    if (this.#isOver) throw new GrpcError(Status.CANCELLED, 'the call is over')
    return this.#method.handle(message, this)
  }

  #startTimer(): void {
    const left = Math.max(0, this.deadline - Date.now())
    // A refusal must arrive before the client gives up.
    const early = this.#method.refuse === undefined ? 0 : Math.min(REFUSAL_MS, left / 10)
    this.#timer = setTimeout(() => this.#endLate(), left - early)
  }

  #answer(message: Uint8Array): void {
    if (this.#isOver) return
    this.#finish()
    this.#stream.respond(RESPONSE_HEADERS)
    this.#stream.send(prefixOf(message), message)
    this.#stream.end(OK_TRAILERS)
  }

  #endLate(): void {
    this.#fail(new GrpcError(Status.DEADLINE_EXCEEDED, 'the deadline has passed'))
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    if (!(error instanceof GrpcError)) this.#connection.onFault(error)
    const refusal = this.#refusalOf(error)
    if (refusal !== undefined) return this.#answer(refusal)
    if (error instanceof GrpcError) return this.#end(error.status, error.message)
    this.#end(Status.UNKNOWN, 'the call failed')
  }

  #refusalOf(error: unknown): Uint8Array | undefined {
    try {
      return this.#method.refuse?.(error)
    } catch (fault) {
      this.#connection.onFault(fault)
      return undefined
    }
  }

  #end(status: Status, details: string): void {
    if (this.#isOver) return
    this.#finish()
    this.#stream.respond(encodeTrailersOnly(status, details), true)
  }

  #finish(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#reader?.clear()
  }
}

/** How long before the deadline a refusal is sent, at most. */
const REFUSAL_MS = 100

/** Returns the error of a call whose message has not arrived whole in time. */
export const lateMessage = (): GrpcError =>
  new GrpcError(Status.DEADLINE_EXCEEDED, 'a message has not arrived whole in time')

const notOne = (): GrpcError => new GrpcError(Status.INTERNAL, 'the method takes one message')
