// Cuts bytes into frames, wherever FrameMarks finds their ends. Works in slices, so that neither many frames nor a
// large one blocks the event loop.

import { err, ok, type Result } from '../../result.js'
import { Pace, PIECE, unitsOf, type Work } from '../../turns.js'
import type { EventFrame, EventFrameReader, FrameSink, Reading } from './frame.js'
import { FrameBytes } from './frame-bytes.js'

/** Finds the ends of frames. */
export interface FrameMarks {
  /** Returns where frames end in the next bytes, ascending. An error: the bytes are not such a stream. */
  ends(bytes: Uint8Array): Result<readonly number[], string>
  /** raw: from the end of the previous frame to the end of this one. */
  frameOf(raw: string, pace: Pace): Work<Result<EventFrame, string>>
}

/** Cuts bytes into frames. */
export class FrameCutter implements EventFrameReader {
  private readonly bytes: FrameBytes

  /** maxBytes: of one frame, including what surrounds its data. */
  constructor(
    maxBytes: number,
    private readonly marks: FrameMarks,
  ) {
    this.bytes = new FrameBytes(maxBytes)
  }

  get held(): number {
    return this.bytes.held
  }

  *push(chunk: Uint8Array, take: FrameSink): Reading {
    const pace = new Pace()
    for (let from = 0; from < chunk.length; from += PIECE) {
      const piece = chunk.subarray(from, from + PIECE)
      if (pace.isDue(unitsOf(piece.length))) yield
      const taken = yield* this.cut(piece, take, pace)
      if (!taken.ok) return taken
    }
    return ok(undefined)
  }

  end(take: FrameSink): Reading {
    return this.takeOne(Buffer.of(), take, new Pace())
  }

  private *cut(piece: Uint8Array, take: FrameSink, pace: Pace): Reading {
    const ends = this.marks.ends(piece)
    if (!ends.ok) return ends
    let from = 0
    for (const to of ends.value) {
      const taken = yield* this.takeOne(piece.subarray(from, to), take, pace)
      if (!taken.ok) return taken
      from = to
    }
    return this.bytes.keep(piece.subarray(from))
  }

  private *takeOne(last: Uint8Array, take: FrameSink, pace: Pace): Reading {
    const size = this.bytes.held + last.length
    if (size === 0) return ok(undefined)
    if (pace.isDue(unitsOf(size))) yield
    const raw = yield* this.bytes.take(last, pace)
    if (!raw.ok) return err(raw.error)
    const frame = yield* this.marks.frameOf(raw.value, pace)
    return frame.ok ? yield* take(frame.value, pace) : frame
  }
}
