// Copies a part of a text that is kept for longer than the text itself. V8 makes most parts refer to their text, so that a
// name of a few characters would keep a body of megabytes in memory, which no budget counts.

/** V8 copies shorter parts anyway. */
const SHORTEST_REFERENCE = 13
/** How many times as long as a part a text may be to be kept by it. */
const MOST_TIMES = 4

/** Whether a part of a text keeps hardly more than itself. */
export const isOwnPart = (part: string, { length }: string): boolean =>
  part.length < SHORTEST_REFERENCE || part.length * MOST_TIMES >= length

/** Returns a part of a text, or a copy of it if the text is much longer. */
export const ownPart = (part: string, text: string): string =>
  isOwnPart(part, text)
    ? part
    : // In UTF-16, as other encodings have no half characters.
      Buffer.from(part, 'utf16le').toString('utf16le')
