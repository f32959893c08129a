// Characters that are two UTF-16 units: a text is never cut between them.

/** Whether a cut there would part them. */
export const splitsPair = (text: string, at: number): boolean =>
  (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00
