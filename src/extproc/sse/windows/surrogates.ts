// Surrogate pairs: characters of two UTF-16 units, between which a text is never cut.

/** Whether a cut at this offset would split a pair. */
export const splitsPair = (text: string, at: number): boolean =>
  (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00
