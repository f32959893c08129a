// What is true of a frame whatever stream it is of: its stream identifier, its length, its padding (RFC 9113, section 6).

import type { Frame } from './frame-reader.js'
import { ConnectionError, ErrorCode, FrameFlag, FrameType } from './protocol.js'

/** Frames of the connection have no stream, and all others have one. @throws {ConnectionError} */
export function expectStream({ type, streamId }: Frame): void {
  const isOfConnection =
    type === FrameType.SETTINGS || type === FrameType.PING || type === FrameType.GOAWAY
  if (type === FrameType.WINDOW_UPDATE || isOfConnection === (streamId === 0)) return
  throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'a frame on the wrong stream')
}

/** The frame. @throws {ConnectionError} */
export function expectLength(frame: Frame, length: number): Frame {
  if (frame.to - frame.from === length) return frame
  throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'a frame of a broken length')
}

/** Where the content of DATA and HEADERS lies (sections 6.1 and 6.2). @throws {ConnectionError} */
export function withoutPadding({ flags, buffer, from, to }: Frame): { from: number; to: number } {
  if ((flags & FrameFlag.PADDED) === 0) return { from, to }
  if (from === to) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'no Pad Length')
  const end = to - (buffer[from] as number)
  if (end < from + 1)
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'padding longer than its frame')
  return { from: from + 1, to: end }
}
