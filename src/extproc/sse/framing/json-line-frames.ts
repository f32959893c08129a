// Reads lines of JSON from bytes cut anywhere, as Ollama's streams are. A line that some clients could split elsewhere is
// an error or passes with escapes.

import { err, ok, type Result } from '../../../kit/result.js'
import { type Pace, piecesOf, unitsOf, type Work } from '../../../kit/turns.js'
import { type DataPlace, type EventFrame, type EventFrameReader, withoutLineEnds } from './frame.js'
import { FrameCutter } from './frame-cutter.js'

const LF = 0x0a

/** maxBytes: of one line, including its end. */
export const createJsonLineReader = (maxBytes: number): EventFrameReader =>
  new FrameCutter(maxBytes, { ends: (bytes) => ok(endsOf(bytes)), frameOf })

/** Returns where lines end in the bytes. */
function endsOf(bytes: Uint8Array): readonly number[] {
  const ends: number[] = []
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) ends.push(at + 1)
  return ends
}

/** raw: a line with its end; the last line may have none. */
function* frameOf(raw: string, pace: Pace): Work<Result<EventFrame, string>> {
  const end = /\r?\n?$/.exec(raw)?.[0] ?? ''
  const pieces: string[] = []
  let hasText = false
  for (const piece of piecesOf(raw.slice(0, raw.length - end.length))) {
    if (pace.isDue(unitsOf(piece.length))) yield
    if (NOT_IN_LINE.test(piece)) return err('a line of the stream is not one of JSON')
    hasText ||= piece.trim() !== ''
    const escaped = withoutLineEnds(piece, pace)
    pieces.push(typeof escaped === 'string' ? escaped : yield* escaped)
  }
  const line = pieces.join('')
  if (!hasText) return ok({ raw: line + end })
  const around: DataPlace = { before: '', after: end, between: ' ' }
  return ok({ raw: line + end, data: line, around })
}

/** Line ends of some clients, and NUL: JSON has them neither in strings nor, but for CR, between values. */
const NOT_IN_LINE = /[\0\v\f\r\x1c-\x1e]/
