// Where a window of a text ends: a webhook should not take a part of a word for a word.

import { splitsPair } from './surrogates.js'

/** How far back a place between two words is looked for. */
const NEAR = 32

/** from: what is before it has been seen. limit: the window ends there at the latest. isAtSpace: it must not end in a word. */
export function endOfWindow(text: string, from: number, limit: number, isAtSpace: boolean): number {
  for (const between of isAtSpace ? [/\s/, /[,;|、。，；！？]/] : [])
    for (let at = limit; at > from && at > limit - NEAR; at -= 1)
      if (between.test(text.charAt(at - 1))) return at
  const isHalf = limit === text.length && (text.charCodeAt(limit - 1) & 0xfc00) === 0xd800
  return isHalf || splitsPair(text, limit) ? limit - 1 : limit
}
