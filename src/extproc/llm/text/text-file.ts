// Text files in base64, bare or in a data URL: webhooks see their text where inspectFiles asks for it.

import type { JsonStringNode } from '../../../kit/json/members.js'
import { type Pace, piecesOf, unitsOf, type Work } from '../../../kit/turns.js'
import { decodeUtf8InTurns } from '../../../kit/utf8.js'
import { DATA_URL } from './shapes.js'

/** A text file from a body. */
export interface TextFile {
  readonly text: string
  /** Beginning of the data URL; "": there is none. */
  readonly prefix: string
}

/** Characters that do not occur in text. */
const BINARY = /[\0-\x08\x0e-\x1a\x1c-\x1f]/
/** A multiple of four, so that each piece decodes by itself. */
const PIECE = 64 * 1024

/** Characters of both base64 alphabets. Addresses of files contain others. */
const FOREIGN = /[^A-Za-z0-9+/=_-]/

/**
 * Returns the text of a file. undefined: it has none, because it is an address or its bytes are not text. odd: readers
 * of base64 would differ about it.
 */
export function* textFileIn(
  { value }: JsonStringNode,
  pace: Pace,
): Work<TextFile | 'odd' | undefined> {
  const prefix = DATA_URL.exec(value.slice(0, 1024))?.[0] ?? ''
  const parts: Buffer[] = []
  for (let from = prefix.length; from < value.length; from += PIECE) {
    const piece = value.slice(from, from + PIECE)
    if (pace.isDue(unitsOf(piece.length))) yield
    if (FOREIGN.test(piece)) return undefined
    const bytes = Buffer.from(piece, 'base64')
    const padding = piece.endsWith('==') ? 2 : piece.endsWith('=') ? 1 : 0
    const isLast = from + PIECE >= value.length
    // Readers differ in what follows padding.
    if (bytes.length !== Math.floor(((piece.length - padding) * 3) / 4) || (padding > 0 && !isLast))
      return 'odd'
    parts.push(bytes)
  }
  if (pace.isDue(unitsOf(value.length))) yield
  const text = yield* decodeUtf8InTurns(Buffer.concat(parts), pace)
  if (text === undefined || text === '') return undefined
  for (const piece of piecesOf(text)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    if (BINARY.test(piece)) return undefined
  }
  return { text, prefix }
}

/** Encodes a text in slices. */
export function* base64Of(text: string, pace: Pace): Work<string> {
  const parts: string[] = []
  let rest = Buffer.alloc(0)
  for (const piece of piecesOf(text)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    const bytes = Buffer.concat([rest, Buffer.from(piece)])
    const whole = bytes.length - (bytes.length % 3)
    parts.push(bytes.toString('base64', 0, whole))
    rest = bytes.subarray(whole)
  }
  return parts.join('') + rest.toString('base64')
}
