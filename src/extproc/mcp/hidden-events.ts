// Finds events in a reply that does not declare an event stream: the official TypeScript client reads the answer to a
// GET as events, whatever its content type is.

import { Pace, PIECE, unitsOf, type Work } from '../../turns.js'

/**
 * A line with data, after any character that a client takes for a line end. At the start of a text, the TypeScript
 * client drops a byte order mark, and then the three characters of one that was read as Latin-1.
 */
const DATA_LINE = /(?:^\ufeff?(?:\xef\xbb\xbf)?|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])data:/
/** Length of a line end with the field's name, which may lie across two pieces. */
const LONGEST = 6

/** Whether clients could read events in a text. Works in slices. */
export function* hasEvents(text: string): Work<boolean> {
  const pace = new Pace()
  for (let at = 0; at < text.length; at += PIECE) {
    if (pace.isDue(unitsOf(PIECE))) yield
    const piece = text.slice(Math.max(0, at - LONGEST), at + PIECE)
    // Only the text begins a line by itself.
    if (DATA_LINE.test(at === 0 ? piece : ` ${piece}`)) return true
  }
  return false
}
