// One stream (RFC 9113, section 5): a request that comes, a response that goes, each within its window.

import type { Outbound, Sender } from './outbound.js'
import { DEFAULT_WINDOW, ErrorCode, FrameFlag, FrameType, MAX_WINDOW } from './protocol.js'

/** Who answers a stream. */
export interface StreamHandler {
  /** A part of the request's content; isLast: onEnd follows. Keeping it keeps all that came with it: copy what must stay. */
  onData(bytes: Buffer, isLast: boolean): void
  /** The request has ended. */
  onEnd(): void
  /** The stream is over, and not by our doing: nothing more can be sent. */
  onReset(): void
  /** All that was sent has left; told where send() said false. */
  onDrain(): void
  /** About once a second, as long as the stream is open. */
  onTick?(): void
}

/** The connection, as its streams know it. */
export interface StreamOwner {
  readonly outbound: Outbound
  /** early: the peer may still send frames of it. */
  closed(stream: Stream, early: boolean): void
  now(): number
}

/** What HEADERS says about the body that follows. */
export interface IncomingRequest {
  readonly contentLength: number | undefined
  readonly endStream: boolean
  /** Of its header list. */
  readonly headBytes: number
}

const NOBODY: StreamHandler = {
  onData: () => {},
  onEnd: () => {},
  onReset: () => {},
  onDrain: () => {},
}

const NOTHING = new Uint8Array(0)

/** The server's end of one stream (RFC 9113, section 5): both windows, the body that comes, the response that goes. */
export class Stream implements Sender {
  readonly id: number
  readonly headBytes: number
  readonly #outbound: Outbound
  readonly #owner: StreamOwner
  #handler: StreamHandler = NOBODY
  /** What the peer takes. */
  #sendWindow: number
  /** What the peer may send, and what of it was taken since the peer was last told. */
  #receiveWindow = DEFAULT_WINDOW
  #taken = 0
  /** Octets of content that are still to come, if that was said. */
  #expected: number | undefined
  #isClosed = false
  #hasRequest = false
  #queue: Buffer[] | undefined
  #trailers: Uint8Array | undefined
  /** The handler was told to wait. */
  #owesDrain = false
  /** When the response had ended and yet not left, by now(); or when some of it left since. */
  #stalledSince = Infinity

  /** hasRequest: there is no content. */
  constructor(id: number, owner: StreamOwner, request: IncomingRequest) {
    this.id = id
    this.headBytes = request.headBytes
    this.#outbound = owner.outbound
    this.#owner = owner
    this.#sendWindow = owner.outbound.initialWindow
    this.#expected = request.contentLength
    this.#hasRequest = request.endStream
  }

  set handler(handler: StreamHandler) {
    this.#handler = handler
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The whole request has come. */
  get hasRequest(): boolean {
    return this.#hasRequest
  }

  get stalledSince(): number {
    return this.#stalledSince
  }

  // What goes.

  /** block: an encoded header block. */
  respond(block: Uint8Array, endStream = false): void {
    if (this.#isClosed) return
    this.#outbound.headers(this.id, block, endStream)
    if (endStream) this.#finished()
  }

  /** DATA of both. false: some of it has to wait, and onDrain will be called. */
  send(prefix: Uint8Array, payload: Uint8Array): boolean {
    if (this.#isClosed) return true
    const length = prefix.length + payload.length
    if (this.#queue === undefined && length <= this.#outbound.room(this.#sendWindow)) {
      this.#sendWindow -= length
      this.#outbound.data(this.id, prefix, payload)
      return true
    }
    return this.sendParts([Buffer.concat([prefix, payload])])
  }

  /** As send(), of parts that nobody writes to any more: what has to wait is not copied. */
  sendParts(parts: readonly Buffer[]): boolean {
    if (this.#isClosed) return true
    this.#queue ??= []
    for (const part of parts) if (part.length > 0) this.#queue.push(part)
    this.#outbound.wait(this)
    this.#outbound.sendWaiting()
    if (this.#queue !== undefined) this.#owesDrain = true
    return !this.#owesDrain
  }

  /** The end, with or without trailers (section 8.1), after all that was sent. */
  end(trailers: Uint8Array = NOTHING): void {
    if (this.#isClosed) return
    if (this.#queue === undefined) return this.#endNow(trailers)
    this.#trailers = trailers
    this.#stalledSince = this.#owner.now()
  }

  /** Section 5.4.2. The handler is not told. */
  reset(code: number): void {
    if (this.#isClosed) return
    this.#outbound.number(FrameType.RST_STREAM, this.id, code)
    this.#close(!this.#hasRequest)
  }

  sendMore(): boolean {
    const first = this.#queue?.[0]
    if (this.#queue === undefined || first === undefined) return false
    const room = this.#outbound.room(this.#sendWindow)
    if (room === 0) return false
    const part = first.length <= room ? first : first.subarray(0, room)
    this.#sendWindow -= part.length
    this.#outbound.data(this.id, NOTHING, part)
    if (this.#stalledSince !== Infinity) this.#stalledSince = this.#owner.now()
    if (part.length < first.length) this.#queue[0] = first.subarray(room)
    else this.#queue.shift()
    if (this.#queue.length > 0) return true
    this.#queue = undefined
    if (this.#trailers !== undefined) this.#endNow(this.#trailers)
    else this.#tellDrained()
    return false
  }

  // What comes.

  /** DATA (section 6.1); length: with padding. */
  receive(content: Buffer, length: number, endStream: boolean): void {
    this.#receiveWindow -= length
    if (this.#receiveWindow < 0) return this.fail(ErrorCode.FLOW_CONTROL_ERROR)
    this.consume(length - content.length)
    if (this.#expected !== undefined) this.#expected -= content.length
    if (endStream && !this.#isWhole()) return this.fail(ErrorCode.PROTOCOL_ERROR)
    this.#hasRequest = endStream
    if (content.length > 0) this.#handler.onData(content, endStream)
    if (endStream) this.#handler.onEnd()
  }

  /** END_STREAM on a HEADERS frame, the first one or the trailers. */
  receiveEnd(): void {
    if (this.#isClosed) return
    if (!this.#isWhole()) return this.fail(ErrorCode.PROTOCOL_ERROR)
    this.#hasRequest = true
    this.#handler.onEnd()
  }

  /** Section 8.1.1: as long as its content-length says. */
  #isWhole(): boolean {
    return this.#expected === undefined || this.#expected === 0
  }

  /** So many octets of content are done with: the peer may send more. */
  consume(length: number): void {
    this.#taken += length
    if (this.#taken < DEFAULT_WINDOW / 2 || this.#hasRequest || this.#isClosed) return
    this.#outbound.number(FrameType.WINDOW_UPDATE, this.id, this.#taken)
    this.#receiveWindow += this.#taken
    this.#taken = 0
  }

  /** Section 6.9. */
  growWindow(increment: number): void {
    this.#sendWindow += increment
    if (this.#sendWindow > MAX_WINDOW) return this.fail(ErrorCode.FLOW_CONTROL_ERROR)
    if (this.#queue === undefined) return
    this.#outbound.wait(this)
    this.#outbound.sendWaiting()
  }

  /** Section 6.9.2: by a change of the initial window, which may also shrink it below 0. */
  mayGrow(difference: number, limit: number): boolean {
    return this.#sendWindow + difference <= limit
  }

  tick(): void {
    this.#handler.onTick?.()
  }

  /** A stream error of the peer's making. */
  fail(code: number): void {
    if (this.#isClosed) return
    const handler = this.#handler
    this.reset(code)
    handler.onReset()
  }

  /** The peer has reset it, or its connection is over. */
  cancel(): void {
    if (this.#isClosed) return
    const handler = this.#handler
    this.#close(false)
    handler.onReset()
  }

  #tellDrained(): void {
    if (!this.#owesDrain) return
    this.#owesDrain = false
    this.#handler.onDrain()
  }

  #endNow(trailers: Uint8Array): void {
    if (trailers.length > 0) this.#outbound.headers(this.id, trailers, true)
    else this.#outbound.frame(FrameType.DATA, FrameFlag.END_STREAM, this.id, NOTHING)
    this.#finished()
  }

  /** "…without error" (section 8.1): a response may be whole before its request is. */
  #finished(): void {
    if (!this.#hasRequest) this.#outbound.number(FrameType.RST_STREAM, this.id, ErrorCode.NO_ERROR)
    this.#close(!this.#hasRequest)
  }

  /** Lets go of all that it held: a table that knew it may live on for a while. */
  #close(early: boolean): void {
    this.#isClosed = true
    this.#handler = NOBODY
    this.#queue = undefined
    this.#trailers = undefined
    this.#outbound.forget(this)
    this.#owner.closed(this, early)
  }
}
