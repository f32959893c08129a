// How a streamed reply is cut into events, whatever marks their ends: SSE, or the items of a JSON array.

import type { Result } from '../../result.js'
import type { Pace, Work } from '../../turns.js'

/** The raw texts of all frames, in their order, are what may pass of the stream. */
export interface EventFrame {
  /**
   * As it came, with its line ends and whatever stands between it and the frame before; but characters of the data that
   * some clients take for line ends are escaped, and comments have no text.
   */
  readonly raw: string
  /** The event; absent where there is none (a comment, a blank line, the end of an array). */
  readonly data?: string
  /** What raw is beside the data; there when data is. */
  readonly around?: DataPlace
}

export interface DataPlace {
  readonly before: string
  readonly after: string
  /** Goes between two lines of the data, e.g. "\ndata: ". */
  readonly between: string
}

/** Reading in slices. The error is a sentence without any text of the stream; nothing is read after it. */
export type Reading = Work<Result<undefined, string>>

/** Takes the frames one by one. Its error ends the reading. */
export type FrameSink = (frame: EventFrame, pace: Pace) => Reading

export interface EventFrameReader {
  /** Hands over the frames that are complete. */
  push(bytes: Uint8Array, take: FrameSink): Reading
  /** Bytes of the frame that is not complete yet. */
  readonly held: number
  /** Hands over what is left when the stream ends. */
  end(take: FrameSink): Reading
}

/** The raw text of the frame with other data: what else it holds stays, byte for byte. */
export function withData({ raw, data: old, around }: EventFrame, data: string): string {
  if (around === undefined || data === old) return raw
  const lines = withoutLineEnds(data).split('\n')
  return around.before + lines.join(around.between) + around.after
}

/** JSON in which nothing but \n and \r is a line end, for whatever client: these stand in strings alone. */
export const withoutLineEnds = (json: string): string =>
  json.replace(/[\x85\u2028\u2029]/g, (found) =>
    found === '\x85' ? '\\u0085' : found === '\u2028' ? '\\u2028' : '\\u2029',
  )
