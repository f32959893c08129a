// Write buffer of a connection: serializes frames and sends those of one tick together.

import { nextTick } from 'node:process'
import { FRAME_HEADER_BYTES, FrameType } from './protocol.js'

const CHUNK_BYTES = 65_536

/** Up to this many bytes, a copy loop is faster than a call into the runtime. */
const MAX_BY_HAND = 48

/** Sends bytes in pieces. Returns true if they have left and their memory may be reused. */
export type Output = (pieces: readonly Buffer[]) => boolean

/** Collects the frames of one tick and passes them to the output together. */
export class FrameWriter {
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
