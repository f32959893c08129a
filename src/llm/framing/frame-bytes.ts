// Collects the bytes of the frame that is being read, up to a limit.

import { err, ok, type Result } from '../../result.js'
import { type Pace, PIECE, type Work } from '../../turns.js'
import { decodeUtf8, decodeUtf8InTurns } from '../../utf8.js'

const TOO_LARGE = err('an event of the stream is too large')
const NOT_UTF8 = err('an event of the stream is not UTF-8')

/** Maximum size of a buffer that is kept for the next frame, in bytes. */
const KEPT = 64 * 1024

/** Buffer of the frame that is being read. */
export class FrameBytes {
  /** Grows by doubling, as a frame may arrive byte by byte. */
  private buffer: Uint8Array = Buffer.of()
  private size = 0

  /** maxBytes: of one frame, including what surrounds its data. */
  constructor(private readonly maxBytes: number) {}

  /** Number of bytes kept. */
  get held(): number {
    return this.size
  }

  /** Copies the bytes, so that their buffer can be reused. */
  keep(bytes: Uint8Array): Result<undefined, string> {
    const size = this.size + bytes.length
    if (size > this.maxBytes) return TOO_LARGE
    if (size > this.buffer.length) this.grow(size)
    this.buffer.set(bytes, this.size)
    this.size = size
    return ok(undefined)
  }

  /** Returns the text of the frame that ends with these bytes. */
  *take(bytes: Uint8Array, pace: Pace): Work<Result<string, string>> {
    if (this.size === 0) return bytes.length > this.maxBytes ? TOO_LARGE : read(decodeUtf8(bytes))
    const kept = this.keep(bytes)
    if (!kept.ok) return kept
    const all = this.buffer.subarray(0, this.size)
    const text = read(this.size > PIECE ? yield* decodeUtf8InTurns(all, pace) : decodeUtf8(all))
    this.size = 0
    if (this.buffer.length > KEPT) this.buffer = Buffer.of()
    return text
  }

  private grow(size: number): void {
    const buffer = new Uint8Array(Math.max(size, Math.min(2 * this.buffer.length, this.maxBytes)))
    buffer.set(this.buffer.subarray(0, this.size))
    this.buffer = buffer
  }
}

const read = (text: string | undefined): Result<string, string> =>
  text === undefined ? NOT_UTF8 : ok(text)
