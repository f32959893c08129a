// The body of an error that could not be read → whether a client could still read JSON in it. Pages and words are the
// server's own.

import { Pace, PIECE, unitsOf, type Work } from '../../turns.js'

/** For each byte, whether it is one of those. */
type Bytes = readonly boolean[]

const bytesOf = (...all: readonly number[]): Bytes =>
  Array.from({ length: 256 }, (_, byte) => all.includes(byte))
const marksOf = (marks: string): Bytes => bytesOf(...Buffer.from(marks))

const BLANK = [0x20, 0x09, 0x0a, 0x0d]
/** Byte order marks, and every other byte of UTF-16. */
const BESIDE_TEXT = bytesOf(...BLANK, 0x00, 0xef, 0xbb, 0xbf, 0xfe, 0xff)
const WORDS = bytesOf(...BLANK, ...Array.from({ length: 0x7f - 0x20 }, (_, index) => 0x20 + index))

const BEGINS = marksOf('{"')
const LIST = '['.charCodeAt(0)
/** What JSON has at the start of a list; words in brackets begin with a letter. */
const IN_LIST = marksOf('{["]-0123456789')

/** Strict readers find none in it, but others overlook a mark, a member that is there twice, a damaged character. */
export function* looksLikeJson(bytes: Uint8Array): Work<boolean> {
  const pace = new Pace()
  const start = yield* firstOther(BESIDE_TEXT, bytes, 0, pace)
  const first = bytes[start]
  if (first === undefined) return false
  if (first !== LIST) return BEGINS[first] === true
  const next = bytes[yield* firstOther(BESIDE_TEXT, bytes, start + 1, pace)]
  return IN_LIST[next ?? LIST] === true
}

/** What says that it is compressed and cannot be decoded: words alone are what they look like. */
export function* looksCompressed(bytes: Uint8Array): Work<boolean> {
  return (yield* firstOther(WORDS, bytes, 0, new Pace())) < bytes.length
}

/** Where the first byte stands that is none of those: in slices. Behind the end: nowhere. */
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
