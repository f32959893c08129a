// Converts between bytes and text strictly: bytes that another reader might replace or drop are not accepted. Large
// inputs are converted in slices, as 10 MiB at once take more than 20 ms.

import { Pace, PIECE, piecesOf, unitsOf, type Work } from './turns.js'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns the text, including a leading byte order mark; undefined: not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** Does the same as decodeUtf8(), in slices. */
export function* decodeUtf8InTurns(bytes: Uint8Array, pace = new Pace()): Work<string | undefined> {
  if (bytes.length <= PIECE) {
    if (pace.isDue(unitsOf(bytes.length))) yield
    return decodeUtf8(bytes)
  }
  const pieces: string[] = []
  for (let from = 0; from < bytes.length;) {
    const to = endOfPiece(bytes, from + PIECE)
    if (pace.isDue(unitsOf(to - from))) yield
    const piece = decodeUtf8(bytes.subarray(from, to))
    if (piece === undefined) return undefined
    pieces.push(piece)
    from = to
  }
  if (pieces.length > 1 && pace.isDue(unitsOf(bytes.length))) yield
  return pieces.join('')
}

/** Returns the end of the piece, moved back to not split a character, which has at most three continuation bytes. */
function endOfPiece(bytes: Uint8Array, at: number): number {
  if (at >= bytes.length) return bytes.length
  let end = at
  while (end > at - 3 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return end
}

/** Returns the bytes of a text; works in slices. */
export function* encodeUtf8InTurns(text: string, pace = new Pace()): Work<Buffer> {
  if (text.length <= PIECE) {
    if (pace.isDue(unitsOf(text.length))) yield
    return Buffer.from(text)
  }
  const parts: Buffer[] = []
  for (const piece of piecesOf(text)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    parts.push(Buffer.from(piece))
  }
  return yield* joinInTurns(parts, pace)
}

/** Bytes that are copied in the time of reading one character. */
const COPIED = 4

/** Joins the parts in slices; a single part is not copied. */
export function* joinInTurns(parts: readonly Uint8Array[], pace = new Pace()): Work<Buffer> {
  const [first] = parts
  if (parts.length === 1 && first !== undefined)
    return Buffer.isBuffer(first)
      ? first
      : Buffer.from(first.buffer, first.byteOffset, first.length)
  const whole = Buffer.allocUnsafeSlow(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    if (pace.isDue(unitsOf(part.length / COPIED))) yield
    whole.set(part, at)
    at += part.length
  }
  return whole
}
