// One stream (RFC 9113, section 5): an incoming request and its response, each within its flow-control window.

import type { Outbound, Sender } from './outbound.js'
import { DEFAULT_WINDOW, ErrorCode, FrameFlag, FrameType, MAX_WINDOW } from './protocol.js'

/** Handler of one stream. */
export interface StreamHandler {
  /** Called with a part of the content; isLast: onEnd follows. A view of a larger buffer: copy what must be kept. */
  onData(bytes: Buffer, isLast: boolean): void
  /** Called when the request has ended. */
  onEnd(): void
  /** Called when the peer, its connection or a stream error ended the stream: nothing more can be sent. */
  onReset(): void
  /** Called when everything sent has left, if send() has returned false. */
  onDrain(): void
  /** Called about once a second while the stream is open. */
  onTick?(): void
}

/** What a stream needs from its connection. */
export interface StreamOwner {
  readonly outbound: Outbound
  /** Called when a stream has closed; early: the peer may still send frames on it. */
  closed(stream: Stream, early: boolean): void
  /** Called when header lists of this size are no longer kept. */
  forgot(headBytes: number): void
  now(): number
}

/** What HEADERS states about the body that follows. */
export interface IncomingRequest {
  readonly contentLength: number | undefined
  readonly endStream: boolean
  /** Size of the header list, in bytes. */
  readonly headBytes: number
}

const NOBODY: StreamHandler = {
  onData: () => {},
  onEnd: () => {},
  onReset: () => {},
  onDrain: () => {},
}

const NOTHING = new Uint8Array(0)

/** The server's end of one stream (RFC 9113, section 5): both windows, the request body and the response. */
export class Stream implements Sender {
  readonly id: number
  #headBytes: number
  readonly #outbound: Outbound
  readonly #owner: StreamOwner
  #handler: StreamHandler = NOBODY
  /** Bytes that the peer accepts. */
  #sendWindow: number
  /** Bytes that the peer may send; #taken counts those consumed since the last WINDOW_UPDATE. */
  #receiveWindow = DEFAULT_WINDOW
  #taken = 0
  /** Bytes of content still expected, if content-length was sent. */
  #expected: number | undefined
  #isClosed = false
  #hasRequest = false
  #queue: Buffer[] | undefined
  #trailers: Uint8Array | undefined
  /** Whether send() returned false and onDrain is due. */
  #owesDrain = false
  /** When the ended response last made progress, by now(); Infinity while it is not waiting. */
  #stalledSince = Infinity

  constructor(id: number, owner: StreamOwner, request: IncomingRequest) {
    this.id = id
    this.#headBytes = request.headBytes
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

  /** Whether the whole request has arrived. */
  get hasRequest(): boolean {
    return this.#hasRequest
  }

  get stalledSince(): number {
    return this.#stalledSince
  }

  /** Size of the header list that is kept, in bytes. */
  get headBytes(): number {
    return this.#headBytes
  }

  /** Called when the header list is not kept any longer than this call: it no longer counts. */
  forgetHead(): void {
    if (this.#isClosed) return
    const bytes = this.#headBytes
    this.#headBytes = 0
    this.#owner.forgot(bytes)
  }

  // Sending.

  /** Sends the response headers. block: an encoded header block. */
  respond(block: Uint8Array, endStream = false): void {
    if (this.#isClosed) return
    this.#outbound.headers(this.id, block, endStream)
    if (endStream) this.#finished()
  }

  /** Sends both parts as DATA. Returns false if some of it has to wait; onDrain is called later. */
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

  /** Like send(), for parts that are no longer modified: bytes that have to wait are not copied. */
  sendParts(parts: readonly Buffer[]): boolean {
    if (this.#isClosed) return true
    this.#queue ??= []
    for (const part of parts) if (part.length > 0) this.#queue.push(part)
    this.#outbound.wait(this)
    this.#outbound.sendWaiting()
    if (this.#queue !== undefined) this.#owesDrain = true
    return !this.#owesDrain
  }

  /** Ends the response after everything sent, with or without trailers (section 8.1). */
  end(trailers: Uint8Array = NOTHING): void {
    if (this.#isClosed) return
    if (this.#queue === undefined) return this.#endNow(trailers)
    this.#trailers = trailers
    this.#stalledSince = this.#owner.now()
  }

  /** Resets the stream (section 5.4.2) without notifying the handler. */
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
    this.#outbound.sharedData(this.id, part)
    if (this.#stalledSince !== Infinity) this.#stalledSince = this.#owner.now()
    if (part.length < first.length) this.#queue[0] = first.subarray(room)
    else this.#queue.shift()
    if (this.#queue.length > 0) return true
    this.#queue = undefined
    if (this.#trailers !== undefined) this.#endNow(this.#trailers)
    else this.#tellDrained()
    return false
  }

  // Receiving.

  /** Handles DATA (section 6.1). length includes padding. */
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

  /** Handles END_STREAM on a HEADERS frame, the first one or the trailers. */
  receiveEnd(): void {
    if (this.#isClosed) return
    if (!this.#isWhole()) return this.fail(ErrorCode.PROTOCOL_ERROR)
    this.#hasRequest = true
    this.#handler.onEnd()
  }

  /** Whether the content is as long as content-length states (section 8.1.1). */
  #isWhole(): boolean {
    return this.#expected === undefined || this.#expected === 0
  }

  /** Releases length consumed bytes: the peer may send as many more. */
  consume(length: number): void {
    this.#taken += length
    if (this.#taken < DEFAULT_WINDOW / 2 || this.#hasRequest || this.#isClosed) return
    this.#outbound.number(FrameType.WINDOW_UPDATE, this.id, this.#taken)
    this.#receiveWindow += this.#taken
    this.#taken = 0
  }

  /** Handles WINDOW_UPDATE (section 6.9). */
  growWindow(increment: number): void {
    this.#sendWindow += increment
    if (this.#sendWindow > MAX_WINDOW) return this.fail(ErrorCode.FLOW_CONTROL_ERROR)
    if (this.#queue === undefined) return
    this.#outbound.wait(this)
    this.#outbound.sendWaiting()
  }

  /** Whether the window may change by difference (section 6.9.2), which may also take it below 0. */
  mayGrow(difference: number, limit: number): boolean {
    return this.#sendWindow + difference <= limit
  }

  tick(): void {
    this.#handler.onTick?.()
  }

  /** Resets the stream after an error of the peer, and notifies the handler. */
  fail(code: number): void {
    if (this.#isClosed) return
    const handler = this.#handler
    this.reset(code)
    handler.onReset()
  }

  /** Called when the peer has reset the stream or the connection has ended. */
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

  /** Closes after the response. If the request is incomplete, asks the peer to stop, without error (section 8.1). */
  #finished(): void {
    if (!this.#hasRequest) this.#outbound.number(FrameType.RST_STREAM, this.id, ErrorCode.NO_ERROR)
    this.#close(!this.#hasRequest)
  }

  /** Closes the stream and drops its references: a map that held it may keep it alive for a while. */
  #close(early: boolean): void {
    this.#isClosed = true
    this.#handler = NOBODY
    this.#queue = undefined
    this.#trailers = undefined
    this.#outbound.forget(this)
    this.#owner.closed(this, early)
  }
}
