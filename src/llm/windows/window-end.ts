// Finds the end of a window of a text, so that a webhook does not take part of a word for a word.

import { splitsPair } from './surrogates.js'

/** How far back a place between two words is searched, in characters. */
const NEAR = 32

/** from: text before it has been seen. limit: the latest end of the window. isAtSpace: avoids ending in a word. */
export function endOfWindow(text: string, from: number, limit: number, isAtSpace: boolean): number {
  for (const between of isAtSpace ? [/\s/, /[,;|、。，；！？]/] : [])
    for (let at = limit; at > from && at > limit - NEAR; at -= 1)
      if (between.test(text.charAt(at - 1))) return at
  const isHalf = limit === text.length && (text.charCodeAt(limit - 1) & 0xfc00) === 0xd800
  return isHalf || splitsPair(text, limit) ? limit - 1 : limit
}
