// Parses the bytes of a connection into frames (RFC 9113, sections 3.4 and 4.1), without copying payloads.

import {
  ConnectionError,
  DEFAULT_MAX_FRAME_SIZE,
  ErrorCode,
  FRAME_HEADER_BYTES,
  PREFACE,
} from './protocol.js'

/** A frame; its payload is buffer[from, to). Valid only until the callback returns. */
export interface Frame {
  type: number
  flags: number
  streamId: number
  buffer: Buffer
  from: number
  to: number
}

/** Incremental parser: the client preface (RFC 9113, section 3.4), then frames (section 4.1), in chunks of any size. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void
  #rest: Buffer | undefined
  #hasPreface = false
  /** Reused for every frame. */
  readonly #frame: Frame = {
    type: 0,
    flags: 0,
    streamId: 0,
    buffer: Buffer.alloc(0),
    from: 0,
    to: 0,
  }

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame
  }

  /** Whether the client's whole preface has arrived. */
  get hasPreface(): boolean {
    return this.#hasPreface
  }

  /** Parses a chunk until stopped(), which is called before each frame, returns true. @throws {ConnectionError} */
  read(chunk: Buffer, stopped: () => boolean): void {
    const buffer = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = undefined
    let at = 0
    if (!this.#hasPreface) {
      at = Math.min(PREFACE.length, buffer.length)
      if (PREFACE.compare(buffer, 0, at, 0, at) !== 0)
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'no connection preface')
      if (at < PREFACE.length) return this.#keep(buffer, 0)
      this.#hasPreface = true
    }
    while (buffer.length - at >= FRAME_HEADER_BYTES && !stopped()) {
      const length =
        ((buffer[at] as number) << 16) |
        ((buffer[at + 1] as number) << 8) |
        (buffer[at + 2] as number)
      if (length > DEFAULT_MAX_FRAME_SIZE)
        throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'a frame above the maximum size')
      const end = at + FRAME_HEADER_BYTES + length
      if (end > buffer.length) break
      this.#emit(buffer, at, end)
      at = end
    }
    this.#keep(buffer, at)
  }

  #emit(buffer: Buffer, at: number, end: number): void {
    const frame = this.#frame
    frame.type = buffer[at + 3] as number
    frame.flags = buffer[at + 4] as number
    frame.streamId = buffer.readUInt32BE(at + 5) & 0x7fffffff
    frame.buffer = buffer
    frame.from = at + FRAME_HEADER_BYTES
    frame.to = end
    this.#onFrame(frame)
  }

  /** Keeps the remaining bytes as a copy, because a view would keep the whole chunk alive. */
  #keep(buffer: Buffer, at: number): void {
    if (at < buffer.length) this.#rest = Buffer.from(buffer.subarray(at))
  }
}
