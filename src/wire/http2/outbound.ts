// Sends the frames of a connection, within the peer's windows (RFC 9113, section 5.2) and the socket's buffer.

import { nextTick } from 'node:process'
import { EMPTY_TABLE } from './hpack-encoder.js'
import {
  ConnectionError,
  DEFAULT_MAX_FRAME_SIZE,
  DEFAULT_TABLE_SIZE,
  DEFAULT_WINDOW,
  ErrorCode,
  FRAME_HEADER_BYTES,
  FrameFlag,
  FrameType,
  MAX_WINDOW,
  Setting,
} from './protocol.js'
import type { Transport } from './transport.js'

/** A stream with data that could not be sent immediately. */
export interface Sender {
  /** Sends one frame. Returns false if nothing more may leave now. */
  sendMore(): boolean
}

/** Fewer bytes are copied beside their frame's header: each piece that is sent costs about as much as copying these. */
const MIN_SHARED_BYTES = 4_096

const NOTHING = new Uint8Array(0)

/** Above this many bytes in the socket, reading and sending stop until it has drained. */
const MAX_PENDING_BYTES = 262_144

/** The sending half of a connection: its flow-control window (RFC 9113, section 5.2) and the streams that wait for it. */
export class Outbound {
  readonly #transport: Transport
  readonly #writer: FrameWriter
  readonly #waiting = new Set<Sender>()
  #window = DEFAULT_WINDOW
  #maxFrameSize = DEFAULT_MAX_FRAME_SIZE
  #isBlocked = false
  /** Whether the encoder must confirm a smaller table (RFC 7541, section 4.2), although it uses none. */
  #owesSizeUpdate = false
  /** Initial send window of new streams. */
  initialWindow = DEFAULT_WINDOW
  /** Number of HEADERS frames sent, including trailers. */
  answered = 0

  constructor(transport: Transport) {
    this.#transport = transport
    this.#writer = new FrameWriter((pieces) => this.#output(pieces))
  }

  /** Whether the socket holds more than MAX_PENDING_BYTES and has not drained since. */
  get isBlocked(): boolean {
    return this.#isBlocked
  }

  /** Returns how many bytes a DATA frame of a stream with this window may carry now. */
  room(streamWindow: number): number {
    if (this.#isBlocked) return 0
    return Math.max(0, Math.min(streamWindow, this.#window, this.#maxFrameSize))
  }

  /** Holds output back until release(), which must follow in the same tick. */
  hold(): void {
    this.#writer.hold()
  }

  release(): void {
    this.#writer.release()
  }

  flush(): void {
    this.#writer.flush()
  }

  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    this.#writer.frame(payload.length, type, flags, streamId)
    this.#writer.bytes(payload)
  }

  /** Writes a frame whose payload is one number: RST_STREAM or WINDOW_UPDATE. */
  number(type: number, streamId: number, value: number): void {
    this.#writer.frame(4, type, 0, streamId)
    this.#writer.uint32(value)
  }

  /** Writes HEADERS. block: at most DEFAULT_MAX_FRAME_SIZE - 1 bytes. */
  headers(streamId: number, block: Uint8Array, endStream: boolean): void {
    const flags = FrameFlag.END_HEADERS | (endStream ? FrameFlag.END_STREAM : 0)
    const update = this.#owesSizeUpdate ? EMPTY_TABLE.length : 0
    this.#writer.frame(update + block.length, FrameType.HEADERS, flags, streamId)
    if (update > 0) this.#writer.bytes(EMPTY_TABLE)
    this.#writer.bytes(block)
    this.#owesSizeUpdate = false
    this.answered += 1
  }

  /** Writes both parts as one DATA frame; the caller has checked room(). */
  data(streamId: number, prefix: Uint8Array, payload: Uint8Array): void {
    const length = prefix.length + payload.length
    this.#window -= length
    this.#writer.frame(length, FrameType.DATA, 0, streamId)
    this.#writer.bytes(prefix)
    this.#writer.bytes(payload)
  }

  /** Like data(), for bytes that are no longer modified: many are sent without a copy. */
  sharedData(streamId: number, payload: Buffer): void {
    if (payload.length < MIN_SHARED_BYTES) return this.data(streamId, NOTHING, payload)
    this.#window -= payload.length
    this.#writer.sharedData(streamId, payload)
  }

  /** Writes GOAWAY (section 6.8). */
  goAway(lastStreamId: number, code: number): void {
    this.#writer.frame(8, FrameType.GOAWAY, 0, 0)
    this.#writer.uint32(lastStreamId)
    this.#writer.uint32(code)
  }

  wait(sender: Sender): void {
    this.#waiting.add(sender)
  }

  forget(sender: Sender): void {
    this.#waiting.delete(sender)
  }

  /** Grows the connection's window (section 6.9). @throws {ConnectionError} */
  growWindow(increment: number): void {
    this.#window += increment
    if (this.#window > MAX_WINDOW)
      throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'a window above 2^31-1')
    this.sendWaiting()
  }

  /** Applies a setting of the peer, except INITIAL_WINDOW_SIZE, which Streams applies. */
  applySetting(id: number, value: number): void {
    if (id === Setting.MAX_FRAME_SIZE) this.#maxFrameSize = value
    if (id === Setting.HEADER_TABLE_SIZE) this.#owesSizeUpdate ||= value < DEFAULT_TABLE_SIZE
  }

  /** Sends one frame of each waiting stream in turn, so no stream waits for another to finish. */
  sendWaiting(): void {
    // A sender that is added again is visited again in this loop.
    for (const sender of this.#waiting) {
      if (this.room(MAX_WINDOW) === 0) return
      this.#waiting.delete(sender)
      if (sender.sendMore()) this.#waiting.add(sender)
    }
  }

  /** Called when the socket has drained. */
  onDrain(): void {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    this.#transport.resume()
    this.sendWaiting()
  }

  #output(pieces: readonly Buffer[]): boolean {
    this.#transport.write(pieces)
    const { pending } = this.#transport
    if (pending > MAX_PENDING_BYTES && !this.#isBlocked) {
      this.#isBlocked = true
      this.#transport.pause()
    }
    return pending === 0
  }
}

// Write buffer of a connection: serializes frames and sends those of one tick together.

const CHUNK_BYTES = 65_536

/** Up to this many bytes, a copy loop is faster than a call into the runtime. */
const MAX_BY_HAND = 48

/** Sends bytes in pieces. Returns true if they have left and their memory may be reused. */
export type Output = (pieces: readonly Buffer[]) => boolean

/** Collects the frames of one tick and passes them to the output together. */
class FrameWriter {
  readonly #output: Output
  #buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  #from = 0
  #to = 0
  /** Pieces that precede the bytes of the buffer, and the length of those that are not in it. */
  #pieces: Buffer[] = []
  #sharedBytes = 0
  #isScheduled = false
  #isHeld = false
  readonly #flushScheduled = (): void => {
    this.#isScheduled = false
    if (!this.#isHeld) this.flush()
  }

  constructor(output: Output) {
    this.#output = output
  }

  /** Holds output back until release(), which must follow in the same tick. */
  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.flush()
  }

  /** Writes a frame header (RFC 9113, section 4.1). length bytes of payload must follow. */
  frame(length: number, type: number, flags: number, streamId: number): void {
    this.#makeRoom(FRAME_HEADER_BYTES + length)
    this.#header(length, type, flags, streamId)
  }

  /** Writes a DATA frame whose payload is sent without a copy, and must not be modified any more. */
  sharedData(streamId: number, payload: Buffer): void {
    this.#makeRoom(FRAME_HEADER_BYTES)
    this.#header(payload.length, FrameType.DATA, 0, streamId)
    this.#closePiece()
    this.#pieces.push(payload)
    this.#sharedBytes += payload.length
    if (this.#sharedBytes >= CHUNK_BYTES) this.flush()
  }

  #header(length: number, type: number, flags: number, streamId: number): void {
    const buffer = this.#buffer
    let at = this.#to
    buffer[at++] = length >> 16
    buffer[at++] = length >> 8
    buffer[at++] = length
    buffer[at++] = type
    buffer[at++] = flags
    this.#to = at
    this.uint32(streamId)
    if (this.#isHeld || this.#isScheduled) return
    this.#isScheduled = true
    nextTick(this.#flushScheduled)
  }

  /** Writes payload, for which frame() has reserved room. */
  bytes(bytes: Uint8Array): void {
    const { length } = bytes
    const at = this.#to
    this.#to += length
    if (length > MAX_BY_HAND) return this.#buffer.set(bytes, at)
    const buffer = this.#buffer
    for (let i = 0; i < length; i++) buffer[at + i] = bytes[i] as number
  }

  uint32(value: number): void {
    const buffer = this.#buffer
    const at = this.#to
    buffer[at] = value >>> 24
    buffer[at + 1] = value >>> 16
    buffer[at + 2] = value >>> 8
    buffer[at + 3] = value
    this.#to = at + 4
  }

  flush(): void {
    this.#closePiece()
    if (this.#pieces.length === 0) return
    const pieces = this.#pieces
    this.#pieces = []
    this.#sharedBytes = 0
    if (this.#output(pieces)) this.#from = this.#to = 0
  }

  #closePiece(): void {
    if (this.#to === this.#from) return
    this.#pieces.push(this.#buffer.subarray(this.#from, this.#to))
    this.#from = this.#to
  }

  #makeRoom(length: number): void {
    if (this.#to + length <= this.#buffer.length) return
    this.flush()
    if (this.#to + length <= this.#buffer.length) return
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, length))
    this.#from = this.#to = 0
  }
}
