// Decides whether a client could read JSON in an error body that the guard could not read. Other bodies, such as HTML
// pages or plain words, come from the server itself, not from a model.

import { Pace, PIECE, unitsOf, type Work } from '../../turns.js'

/** A set of bytes: for each byte value, whether it is a member. */
type Bytes = readonly boolean[]

const bytesOf = (...all: readonly number[]): Bytes =>
  Array.from({ length: 256 }, (_, byte) => all.includes(byte))
const marksOf = (marks: string): Bytes => bytesOf(...Buffer.from(marks))

const BLANK = [0x20, 0x09, 0x0a, 0x0d]
/** Bytes that may precede text: white space, byte order marks, and every other byte of UTF-16. */
const BESIDE_TEXT = bytesOf(...BLANK, 0x00, 0xef, 0xbb, 0xbf, 0xfe, 0xff)
const WORDS = bytesOf(...BLANK, ...Array.from({ length: 0x7f - 0x20 }, (_, index) => 0x20 + index))

const BEGINS = marksOf('{"')
const LIST = '['.charCodeAt(0)
/** Bytes that may follow "[" in JSON. No letters: words in brackets begin with one. */
const IN_LIST = marksOf('{["]-0123456789')

/**
 * Whether a lenient reader could find JSON in the bytes, i.e. one that ignores byte order marks, duplicate members or
 * damaged characters.
 */
export function* looksLikeJson(bytes: Uint8Array): Work<boolean> {
  const pace = new Pace()
  const start = yield* firstOther(BESIDE_TEXT, bytes, 0, pace)
  const first = bytes[start]
  if (first === undefined) return false
  if (first !== LIST) return BEGINS[first] === true
  const next = bytes[yield* firstOther(BESIDE_TEXT, bytes, start + 1, pace)]
  return IN_LIST[next ?? LIST] === true
}

/** Whether a body that is declared compressed but cannot be decoded may be compressed: it is not plain ASCII text. */
export function* looksCompressed(bytes: Uint8Array): Work<boolean> {
  return (yield* firstOther(WORDS, bytes, 0, new Pace())) < bytes.length
}

/** Returns the index of the first byte outside the set, or the end if there is none. Works in slices. */
function* firstOther(those: Bytes, bytes: Uint8Array, from: number, pace: Pace): Work<number> {
  let at = from
  while (at < bytes.length) {
    const until = Math.min(at + PIECE, bytes.length)
    if (pace.isDue(unitsOf(until - at))) yield
    while (at < until && those[bytes[at] ?? 0] === true) at += 1
    if (at < until) break
  }
  return at
}
