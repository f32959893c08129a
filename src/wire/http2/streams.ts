// The stream table of one connection: routes frames to streams according to their state (RFC 9113, section 5.1).

import type { Frame } from './frame-reader.js'
import { type HeaderBlock, isPriorityOfItself } from './header-blocks.js'
import type { HeldHeads } from './held-heads.js'
import { sizeOf } from './hpack-decoder.js'
import type { Outbound } from './outbound.js'
import { ConnectionError, ErrorCode, FrameType, MAX_WINDOW } from './protocol.js'
import { areWellFormedTrailers, readRequestHead, type RequestHead } from './request-head.js'
import type { HeaderField } from './static-table.js'
import { Stream, type StreamHandler, type StreamOwner } from './stream.js'

/** Dependencies of the stream table: the stream limit, a clock, and the factory of handlers. */
export interface StreamsOptions {
  readonly maxStreams: number
  /** What the header lists of open streams hold, in the budget of all connections. */
  readonly heads: HeldHeads
  open(head: RequestHead, stream: Stream): StreamHandler
  now(): number
}

/** Number of streams to remember that were closed while the peer could still send. */
const MAX_CLOSED_EARLY = 4_096
/** Maximum size of the header lists of all open streams. One may have 64 KiB, and small blocks can expand to that. */
const MAX_OPEN_HEAD_BYTES = 16 * 1024 * 1024
/** Longest time that a complete response waits for a peer that takes no data. */
const STALL_MS = 30_000

/** The table of a connection's streams and their states (RFC 9113, section 5.1). */
export class Streams implements StreamOwner {
  readonly outbound: Outbound
  readonly #options: StreamsOptions
  readonly #onClosed: () => void
  readonly #open = new Map<number, Stream>()
  /**
   * The most recently opened stream, which is not in the map: most streams end before the next one begins, and a map
   * that is written on every call keeps its old entries alive until the next full garbage collection.
   */
  #newest: Stream | undefined
  readonly #closedEarly = new Set<number>()
  #lastId = 0
  /** Whether GOAWAY has named #lastId: what the peer sends on streams above it is ignored (section 6.8). */
  #isDrained = false
  #lastList: readonly HeaderField[] | undefined
  #lastHead: RequestHead | undefined
  #lastHeadBytes = 0
  #openHeadBytes = 0

  constructor(outbound: Outbound, options: StreamsOptions, onClosed: () => void) {
    this.outbound = outbound
    this.#options = options
    this.#onClosed = onClosed
  }

  get size(): number {
    return this.#open.size + (this.#newest === undefined ? 0 : 1)
  }

  /** The highest stream identifier that the peer has opened. */
  get lastId(): number {
    return this.#lastId
  }

  now(): number {
    return this.#options.now()
  }

  closed(stream: Stream, early: boolean): void {
    if (this.#newest === stream) this.#newest = undefined
    else this.#open.delete(stream.id)
    this.forgot(stream.headBytes)
    if (early) this.#remember(stream.id)
    this.#onClosed()
  }

  forgot(headBytes: number): void {
    this.#openHeadBytes -= headBytes
    this.#options.heads.add(-headBytes)
  }

  /** Ignores all streams above the last one, because the peer may retry them on another connection (section 6.8). */
  drain(): void {
    this.#isDrained = true
  }

  /** Handles a header block: a new request, or the trailers of one. */
  open(block: HeaderBlock): void {
    const stream = this.#find(block.streamId)
    if (stream !== undefined) return this.#trailers(stream, block)
    const { streamId: id } = block
    if (id % 2 === 0) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'an even stream')
    if (id <= this.#lastId) {
      if (this.#closedEarly.has(id)) return
      throw new ConnectionError(ErrorCode.STREAM_CLOSED, 'HEADERS on a closed stream')
    }
    if (this.#isDrained) return
    this.#lastId = id
    const head = this.#head(block.list)
    // Stream limits (section 5.1.2).
    if (this.size >= this.#options.maxStreams || this.#hasTooManyHeads())
      this.#refuse(id, ErrorCode.REFUSED_STREAM)
    else if (head === undefined || block.dependsOnItself) this.#refuse(id, ErrorCode.PROTOCOL_ERROR)
    else if (!this.#options.heads.add(this.#lastHeadBytes))
      this.#refuse(id, ErrorCode.ENHANCE_YOUR_CALM)
    else this.#begin(id, head, block.endStream)
  }

  /** Handles DATA. length includes padding. */
  receive(id: number, content: Buffer, length: number, endStream: boolean): void {
    const stream = this.#find(id)
    if (stream !== undefined && !stream.hasRequest)
      return stream.receive(content, length, endStream)
    if (this.#isIgnored(id) || this.#closedEarly.has(id)) return
    // Section 6.1: "the recipient MUST respond with a stream error of type STREAM_CLOSED".
    if (stream !== undefined) stream.fail(ErrorCode.STREAM_CLOSED)
    else this.#refuse(id, ErrorCode.STREAM_CLOSED)
  }

  /** Handles RST_STREAM (section 6.4). */
  cancel(id: number): void {
    if (!this.#isIgnored(id)) this.#find(id)?.cancel()
  }

  /** Handles PRIORITY (section 6.3): validated, otherwise ignored. */
  prioritize(frame: Frame): void {
    // A stream error may become a connection error (section 5.4.2), and an idle stream cannot be reset (section 5.1).
    if (isPriorityOfItself(frame))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'a stream that depends on itself')
  }

  /** Handles WINDOW_UPDATE (section 6.9). */
  growWindow(id: number, increment: number): void {
    if (this.#isIgnored(id)) return
    const stream = this.#find(id)
    if (increment === 0) stream?.fail(ErrorCode.PROTOCOL_ERROR)
    else stream?.growWindow(increment)
  }

  /** Applies SETTINGS_INITIAL_WINDOW_SIZE to all streams (section 6.9.2). @throws {ConnectionError} */
  setInitialWindow(value: number): void {
    const difference = value - this.outbound.initialWindow
    this.outbound.initialWindow = value
    for (const stream of this.#all()) {
      if (!stream.mayGrow(difference, MAX_WINDOW))
        throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'a window above 2^31-1')
      stream.growWindow(difference)
    }
  }

  /** Checks for stalled streams; called about once a second. */
  tick(now: number): void {
    for (const stream of this.#all())
      if (now - stream.stalledSince > STALL_MS) stream.fail(ErrorCode.CANCEL)
      else stream.tick()
  }

  cancelAll(): void {
    for (const stream of this.#all()) stream.cancel()
  }

  #all(): readonly Stream[] {
    return this.#newest === undefined
      ? [...this.#open.values()]
      : [...this.#open.values(), this.#newest]
  }

  #find(id: number): Stream | undefined {
    return this.#newest?.id === id ? this.#newest : this.#open.get(id)
  }

  #begin(id: number, head: RequestHead, endStream: boolean): void {
    if (this.#newest !== undefined) this.#open.set(this.#newest.id, this.#newest)
    const { contentLength } = head
    const headBytes = this.#lastHeadBytes
    const stream = new Stream(id, this, { contentLength, endStream, headBytes })
    this.#openHeadBytes += headBytes
    this.#newest = stream
    stream.handler = this.#options.open(head, stream)
    if (endStream) stream.receiveEnd()
  }

  /** Handles trailers: they end the request and have no pseudo-header fields (section 8.1). */
  #trailers(stream: Stream, { endStream, list }: HeaderBlock): void {
    if (stream.hasRequest) stream.fail(ErrorCode.STREAM_CLOSED)
    else if (!endStream || !areWellFormedTrailers(list)) stream.fail(ErrorCode.PROTOCOL_ERROR)
    else stream.receiveEnd()
  }

  #head(list: readonly HeaderField[]): RequestHead | undefined {
    if (this.#lastList !== list) {
      this.#lastHead = readRequestHead(list)
      this.#lastHeadBytes = list.reduce((sum, field) => sum + sizeOf(field), 0)
      this.#lastList = list
    }
    return this.#lastHead
  }

  /** Whether the open header lists, including that of the new stream, exceed their limit. */
  #hasTooManyHeads(): boolean {
    return this.#openHeadBytes + this.#lastHeadBytes > MAX_OPEN_HEAD_BYTES
  }

  #refuse(id: number, code: number): void {
    this.outbound.number(FrameType.RST_STREAM, id, code)
    this.#remember(id)
  }

  /** Remembers a stream that this side closed: frames already in flight for it are ignored (section 5.1). */
  #remember(id: number): void {
    this.#closedEarly.add(id)
    if (this.#closedEarly.size <= MAX_CLOSED_EARLY) return
    for (const oldest of this.#closedEarly) {
      this.#closedEarly.delete(oldest)
      return
    }
  }

  /** Whether GOAWAY told the peer that its stream is ignored. Throws if it is idle (section 5.1). @throws {ConnectionError} */
  #isIgnored(id: number): boolean {
    const isAbove = id > this.#lastId
    if (id % 2 === 0 || (isAbove && !this.#isDrained))
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'a frame on an idle stream')
    return isAbove
  }
}
