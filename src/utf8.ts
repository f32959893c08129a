// Bytes ↔ their text, strictly: what another reader might replace or leave out is no text. Large ones are worked through in
// slices: 10 MiB at once take more than 20 ms.

import { Pace, PIECE, piecesOf, unitsOf, type Work } from './turns.js'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text, with a byte order mark that it begins with; undefined: not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** The same, in slices. */
export function* decodeUtf8InTurns(bytes: Uint8Array, pace = new Pace()): Work<string | undefined> {
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

/** No character is parted: at most three of its bytes continue it. */
function endOfPiece(bytes: Uint8Array, at: number): number {
  if (at >= bytes.length) return bytes.length
  let end = at
  while (end > at - 3 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return end
}

/** The bytes of a text, in slices. */
export function* encodeUtf8InTurns(text: string, pace = new Pace()): Work<Buffer> {
  const parts: Buffer[] = []
  for (const piece of piecesOf(text)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    parts.push(Buffer.from(piece))
  }
  return yield* joinInTurns(parts, pace)
}

/** Bytes that are copied as fast as one character is read. */
const COPIED = 4

/** All bytes of the parts in one piece, which may be the only part itself. */
export function* joinInTurns(parts: readonly Uint8Array[], pace = new Pace()): Work<Buffer> {
  const [first] = parts
  if (parts.length === 1 && first !== undefined)
    return Buffer.from(first.buffer, first.byteOffset, first.length)
  const whole = Buffer.allocUnsafeSlow(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    if (pace.isDue(unitsOf(part.length / COPIED))) yield
    whole.set(part, at)
    at += part.length
  }
  return whole
}
