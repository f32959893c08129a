// Checks that do not depend on stream state: stream identifier, length and padding of a frame (RFC 9113, section 6).

import type { Frame } from './frame-reader.js'
import { ConnectionError, ErrorCode, FrameFlag, FrameType } from './protocol.js'

/** Checks that connection frames have stream 0 and all others have another. @throws {ConnectionError} */
export function expectStream({ type, streamId }: Frame): void {
  const isOfConnection =
    type === FrameType.SETTINGS || type === FrameType.PING || type === FrameType.GOAWAY
  if (type === FrameType.WINDOW_UPDATE || isOfConnection === (streamId === 0)) return
  throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'a frame on the wrong stream')
}

/** Returns the frame if its payload has this length. @throws {ConnectionError} */
export function expectLength(frame: Frame, length: number): Frame {
  if (frame.to - frame.from === length) return frame
  throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'a frame of a broken length')
}

/** Returns the range of the content of DATA or HEADERS (sections 6.1 and 6.2). @throws {ConnectionError} */
export function withoutPadding({ flags, buffer, from, to }: Frame): { from: number; to: number } {
  if ((flags & FrameFlag.PADDED) === 0) return { from, to }
  if (from === to) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'no Pad Length')
  const end = to - (buffer[from] as number)
  if (end < from + 1)
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'padding longer than its frame')
  return { from: from + 1, to: end }
}
