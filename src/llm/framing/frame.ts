// How a streamed reply is cut into events, whatever marks their ends: SSE, or the items of a JSON array.

import type { Result } from '../../result.js'

/** The raw texts of all frames, in their order, are the stream. */
export interface Frame {
  /** As it came, with its line ends and whatever stands between it and the frame before. */
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

export interface FrameReader {
  /** The frames that are complete. The error is a sentence without any text of them; nothing is read after it. */
  push(bytes: Uint8Array): Result<readonly Frame[], string>
  /** What is left when the stream ends. */
  end(): Result<readonly Frame[], string>
}

/** The raw text of the frame with other data: what else it holds stays, byte for byte. */
export function withData({ raw, data: old, around }: Frame, data: string): string {
  if (around === undefined || data === old) return raw
  return around.before + data.split('\n').join(around.between) + around.after
}
