// Decides whether a client could read JSON in an error body. Others, such as pages or plain words, are one text.

import { Pace, piecesOf, unitsOf, type Work } from '../../kit/turns.js'

/** No white space, control character or mark without a width: clients drop some of these before they read JSON. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}]/u
/**
 * The beginning of JSON with a string: an object, a list or a string, or what lenient readers skip before one. Words in
 * brackets count too, because readers differ in what a list may hold: NaN, names, other quotes.
 */
const BEGINS = /^(?:[[{"]|\/[*/]|\)\]\})/
const LONGEST = 3

/** Whether a reader could find JSON with strings in a text, also one less strict than Gatehouse's own. Works in slices. */
export function* looksLikeJson(text: string): Work<boolean> {
  const pace = new Pace()
  let from = 0
  for (const piece of piecesOf(text)) {
    if (pace.isDue(unitsOf(piece.length))) yield
    const at = piece.search(VISIBLE)
    if (at >= 0) return BEGINS.test(text.slice(from + at, from + at + LONGEST))
    from += piece.length
  }
  return false
}
