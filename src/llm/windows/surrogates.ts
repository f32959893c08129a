// Characters that are two UTF-16 units: a text is never cut between them.

/** Whether a cut there would part them. */
export const splitsPair = (text: string, at: number): boolean =>
  (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00

/** Whether its last character may be one half of which the other is still to come. */
export const endsInHalf = (text: string): boolean =>
  (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800
