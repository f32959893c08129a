// Frames → bytes of a connection. What is written in one tick leaves in one piece.

import { nextTick } from 'node:process'
import { FRAME_HEADER_BYTES } from './protocol.js'

const CHUNK_BYTES = 65_536

/** Fewer bytes are copied one by one sooner than a call of the runtime begins. */
const MAX_BY_HAND = 48

/** true: the bytes have left, and their memory may be written again. */
export type Output = (bytes: Buffer) => boolean

/** Write buffer of a connection: collects the frames of one tick and hands them to the transport together. */
export class FrameWriter {
  readonly #output: Output
  #buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  #from = 0
  #to = 0
  #isScheduled = false
  #isHeld = false
  readonly #flushScheduled = (): void => {
    this.#isScheduled = false
    if (!this.#isHeld) this.flush()
  }

  constructor(output: Output) {
    this.#output = output
  }

  /** Nothing leaves before release(), which comes in the same tick. */
  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.flush()
  }

  /** RFC 9113, section 4.1. length bytes follow. */
  frame(length: number, type: number, flags: number, streamId: number): void {
    this.#makeRoom(FRAME_HEADER_BYTES + length)
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

  /** The room for what frame() announced is there. */
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
    if (this.#to === this.#from) return
    const bytes = this.#buffer.subarray(this.#from, this.#to)
    this.#from = this.#to
    if (this.#output(bytes)) this.#from = this.#to = 0
  }

  #makeRoom(length: number): void {
    if (this.#to + length <= this.#buffer.length) return
    this.flush()
    if (this.#to + length <= this.#buffer.length) return
    this.#buffer = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, length))
    this.#from = this.#to = 0
  }
}
