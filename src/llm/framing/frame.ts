// Types of the frames into which a streamed reply is cut: SSE events, or the items of a JSON array.

import type { Result } from '../../result.js'
import { type Pace, piecesOf, type Work } from '../../turns.js'

/** A frame. The raw texts of all frames, in order, are everything of the stream that may pass. */
export interface EventFrame {
  /**
   * The frame as received, with its line ends and whatever precedes it after the previous frame. However, characters of
   * the data that some clients take for line ends are escaped, and comments have no text.
   */
  readonly raw: string
  /** The event; absent where there is none (a comment, a blank line, the end of an array). */
  readonly data?: string
  /** What surrounds the data in raw; present if data is. */
  readonly around?: DataPlace
}

/** The text around the data of a frame. */
export interface DataPlace {
  readonly before: string
  readonly after: string
  /** Text between two lines of the data, e.g. "\ndata: ". */
  readonly between: string
}

/** Reading in slices. The error is a sentence without any text of the stream; nothing is read after it. */
export type Reading = Work<Result<undefined, string>>

/** Takes the frames one by one. Its error ends the reading. */
export type FrameSink = (frame: EventFrame, pace: Pace) => Reading

/** Cuts a stream into frames. */
export interface EventFrameReader {
  /** Passes on the frames that are complete. */
  push(bytes: Uint8Array, take: FrameSink): Reading
  /** Number of bytes of the incomplete frame. */
  readonly held: number
  /** Passes on what is left when the stream ends. */
  end(take: FrameSink): Reading
}

/** Returns the frame's raw text with other data; everything else stays, byte for byte. */
export function withData({ raw, data: old, around }: EventFrame, data: string): string {
  if (around === undefined || data === old) return raw
  const lines = withoutLineEnds(data).split('\n')
  return around.before + lines.join(around.between) + around.after
}

/** Yields the pieces of withData(), so that a large frame can be sent in slices. */
export function* piecesWithData(frame: EventFrame, data: string): Generator<string> {
  const { raw, data: old, around } = frame
  if (around === undefined || data === old) {
    yield* piecesOf(raw)
    return
  }
  yield around.before
  for (const piece of piecesOf(data))
    yield withoutLineEnds(piece).replaceAll('\n', () => around.between)
  yield around.after
}

/** Returns the frame without its data: clients dispatch no event for it. */
export function withoutData({ raw, around }: EventFrame): string {
  if (around === undefined) return raw
  const lineEnd = /^(?:\r\n|\n|\r)?/.exec(around.after)?.[0] ?? ''
  return around.before.replace(/data: $/, '') + around.after.slice(lineEnd.length)
}

/** Escapes what some clients take for line ends besides \n and \r; JSON has these characters only in strings. */
export const withoutLineEnds = (json: string): string =>
  json.replace(/[\x85\u2028\u2029]/g, (found) =>
    found === '\x85' ? '\\u0085' : found === '\u2028' ? '\\u2028' : '\\u2029',
  )
