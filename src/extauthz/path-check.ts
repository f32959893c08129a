// Checks that a path is one of the entry's (decision 8). Envoy normalises paths; this is a second check.

import { Budget, spending } from '../cel/budget.js'
import { matchesWhole } from '../cel/patterns.js'
import type { PathMatch } from '../ir/route.js'

/** Why a path does not belong to an entry. */
export type PathFault = 'path-trick' | 'path-mismatch'

/** path: with or without a query. undefined: the path is acceptable. */
export function pathFault(path: string, matches: readonly PathMatch[]): PathFault | undefined {
  const queryAt = path.search(/[?#]/)
  const plain = queryAt === -1 ? path : path.slice(0, queryAt)
  if (isTrick(plain)) return 'path-trick'
  return matches.some((match) => isBelow(plain, match)) ? undefined : 'path-mismatch'
}

/**
 * Matches what servers interpret differently: parameters after a semicolon, backslashes, empty segments, control
 * characters, escaped slashes, backslashes and NUL, and dot segments, escaped or not.
 */
const TRICK = /[;\\\u0000-\u0020\u007f]|\/\/|%(?:2f|5c|00)|\/(?:\.|%2e){1,2}(?:\/|$)/i

const isTrick = (path: string): boolean => !path.startsWith('/') || TRICK.test(path)

function isBelow(path: string, match: PathMatch): boolean {
  if (match.type === 'RegularExpression') return isMatched(path, match.value)
  if (path === match.value || (match.type === 'PathPrefix' && match.value === '/')) return true
  return match.type === 'PathPrefix' && path.startsWith(`${match.value}/`)
}

/** Within a budget, as the path is the client's: one that takes longer does not match. */
function isMatched(path: string, pattern: string): boolean {
  try {
    return spending(new Budget(), () => matchesWhole(path, pattern))
  } catch {
    return false
  }
}
