// Types of the frames into which a streamed reply is cut: SSE events, or the items of a JSON array.

import type { Result } from '../../../kit/result.js'
import {
  type Pace,
  piecesOf,
  replaceInTurns,
  type Soon,
  unitsOf,
  type Work,
} from '../../../kit/turns.js'

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
  /** Where the event begins, for errors ("line 3"); absent if the stream has no lines, or there is no event. */
  readonly place?: string
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

/** Returns the pieces of the frame's raw text with other data; everything else stays, byte for byte. */
export function* piecesWithData(
  { raw, data: old, around }: EventFrame,
  data: string,
  pace: Pace,
): Work<readonly string[]> {
  if (around === undefined || data === old) return [...piecesOf(raw)]
  const pieces = [around.before]
  for (const piece of piecesOf(data)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    const escaped = withoutLineEnds(piece, pace)
    const line = typeof escaped === 'string' ? escaped : yield* escaped
    pieces.push(yield* replaceInTurns(line, '\n', around.between, pace))
  }
  return [...pieces, around.after]
}

/** Returns the frame without its data: clients dispatch no event for it. */
export function withoutData({ raw, around }: EventFrame): string {
  if (around === undefined) return raw
  const lineEnd = /^(?:\r\n|\n|\r)?/.exec(around.after)?.[0] ?? ''
  return around.before.replace(/data: $/, '') + around.after.slice(lineEnd.length)
}

/** Line ends of some clients besides \n and \r, and how JSON, which has them only in strings, escapes them. */
const LINE_ENDS = /[\x85\u2028\u2029]/
const ESCAPES = [
  ['\x85', '\\u0085'],
  ['\u2028', '\\u2028'],
  ['\u2029', '\\u2029'],
] as const

/** Escapes what some clients take for line ends. json: at most a piece. */
export function withoutLineEnds(json: string, pace: Pace): Soon<string> {
  return LINE_ENDS.test(json) ? escaped(json, pace) : json
}

function* escaped(json: string, pace: Pace): Work<string> {
  let text = json
  for (const [character, escape] of ESCAPES)
    text = yield* replaceInTurns(text, character, escape, pace)
  return text
}
