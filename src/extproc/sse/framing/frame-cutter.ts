// Cuts bytes into frames, wherever FrameMarks finds their ends. Works in slices, so that neither many frames nor a
// large one blocks the event loop.

import { err, ok, type Result } from '../../../kit/result.js'
import { Pace, PIECE, unitsOf, type Work } from '../../../kit/turns.js'
import { decodeUtf8, decodeUtf8InTurns } from '../../../kit/utf8.js'
import type { EventFrame, EventFrameReader, FrameSink, Reading } from './frame.js'

/** Finds the ends of frames. */
export interface FrameMarks {
  /** Returns where frames end in the next bytes, ascending. An error: the bytes are not such a stream. */
  ends(bytes: Uint8Array): Result<readonly number[], string>
  /** Returns where the next frame begins, for errors; absent: nothing that a reader could count. */
  place?(): string
  /** raw: from the end of the previous frame to the end of this one. */
  frameOf(raw: string, pace: Pace): Work<Result<EventFrame, string>>
}

/** Cuts bytes into frames. */
export class FrameCutter implements EventFrameReader {
  readonly #bytes: FrameBytes

  /** maxBytes: of one frame, including what surrounds its data. */
  constructor(
    maxBytes: number,
    private readonly marks: FrameMarks,
  ) {
    this.#bytes = new FrameBytes(maxBytes)
  }

  get held(): number {
    return this.#bytes.held
  }

  *push(chunk: Uint8Array, take: FrameSink): Reading {
    const pace = new Pace()
    for (let from = 0; from < chunk.length; from += PIECE) {
      const piece = chunk.subarray(from, from + PIECE)
      if (pace.isDue(unitsOf(piece.length))) yield
      const taken = yield* this.#cut(piece, take, pace)
      if (!taken.ok) return taken
    }
    return ok(undefined)
  }

  end(take: FrameSink): Reading {
    return this.#takeOne(Buffer.of(), take, new Pace())
  }

  *#cut(piece: Uint8Array, take: FrameSink, pace: Pace): Reading {
    const ends = this.marks.ends(piece)
    if (!ends.ok) return ends
    let from = 0
    for (const to of ends.value) {
      const taken = yield* this.#takeOne(piece.subarray(from, to), take, pace)
      if (!taken.ok) return taken
      from = to
    }
    return this.#placed(this.#bytes.keep(piece.subarray(from)))
  }

  *#takeOne(last: Uint8Array, take: FrameSink, pace: Pace): Reading {
    const size = this.#bytes.held + last.length
    if (size === 0) return ok(undefined)
    if (pace.isDue(unitsOf(size))) yield
    const raw = this.#placed(yield* this.#bytes.take(last, pace))
    if (!raw.ok) return raw
    const frame = yield* this.marks.frameOf(raw.value, pace)
    return frame.ok ? yield* take(frame.value, pace) : frame
  }

  /** Adds to an error where it is. */
  #placed<T>(result: Result<T, string>): Result<T, string> {
    const place = this.marks.place?.()
    return result.ok || place === undefined ? result : err(`${result.error} (${place})`)
  }
}

// Collects the bytes of the frame that is being read, up to a limit.

const TOO_LARGE = err('an event of the stream is too large')
const NOT_UTF8 = err('an event of the stream is not UTF-8')

/** Maximum size of a buffer that is kept for the next frame, in bytes. */
const KEPT = 64 * 1024

/** Buffer of the frame that is being read. */
class FrameBytes {
  /** Grows by doubling, as a frame may arrive byte by byte. */
  #buffer: Uint8Array = Buffer.of()
  #size = 0

  /** maxBytes: of one frame, including what surrounds its data. */
  constructor(private readonly maxBytes: number) {}

  /** Number of bytes kept. */
  get held(): number {
    return this.#size
  }

  /** Copies the bytes, so that their buffer can be reused. */
  keep(bytes: Uint8Array): Result<undefined, string> {
    const size = this.#size + bytes.length
    if (size > this.maxBytes) return TOO_LARGE
    if (size > this.#buffer.length) this.#grow(size)
    this.#buffer.set(bytes, this.#size)
    this.#size = size
    return ok(undefined)
  }

  /** Returns the text of the frame that ends with these bytes. */
  *take(bytes: Uint8Array, pace: Pace): Work<Result<string, string>> {
    if (this.#size === 0) return bytes.length > this.maxBytes ? TOO_LARGE : read(decodeUtf8(bytes))
    const kept = this.keep(bytes)
    if (!kept.ok) return kept
    const all = this.#buffer.subarray(0, this.#size)
    const text = read(this.#size > PIECE ? yield* decodeUtf8InTurns(all, pace) : decodeUtf8(all))
    this.#size = 0
    if (this.#buffer.length > KEPT) this.#buffer = Buffer.of()
    return text
  }

  #grow(size: number): void {
    const buffer = new Uint8Array(Math.max(size, Math.min(2 * this.#buffer.length, this.maxBytes)))
    buffer.set(this.#buffer.subarray(0, this.#size))
    this.#buffer = buffer
  }
}

const read = (text: string | undefined): Result<string, string> =>
  text === undefined ? NOT_UTF8 : ok(text)
