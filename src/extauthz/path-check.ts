// Checks that a path is one of the entry's (decision 8). Envoy normalises paths; this is a second check.

import { Budget, spending } from '../cel/budget.js'
import { holdPattern, matchesCompiled, wholePattern } from '../cel/patterns.js'
import { memo } from '../incremental/memo.js'
import type { PathMatch } from '../ir/route.js'
import type { Work } from '../turns.js'

/** Why a path does not belong to an entry. */
export type PathFault = 'path-trick' | 'path-mismatch'

/** path: with or without a query. undefined: the path is acceptable. */
export function pathFault(path: string, matches: readonly PathMatch[]): PathFault | undefined {
  const queryAt = path.search(/[?#]/)
  const plain = queryAt === -1 ? path : path.slice(0, queryAt)
  if (isTrick(plain)) return 'path-trick'
  return isOneOf(plain, matches) ? undefined : 'path-mismatch'
}

/** Compiles the patterns of an entry's paths, so that no request waits for it. */
export function* compilePaths(matches: readonly PathMatch[]): Work<void> {
  for (const match of matches) {
    if (match.type !== 'RegularExpression') continue
    patternOf(match)
    yield
  }
}

/** undefined: not a pattern, which the translation rejects. */
const patternOf = memo(({ value }: PathMatch) => {
  try {
    return holdPattern(wholePattern(value))
  } catch {
    return undefined
  }
})

/**
 * Matches what servers interpret differently: parameters after a semicolon, backslashes, empty segments, control
 * characters, escaped slashes, backslashes and NUL, and dot segments, escaped or not.
 */
const TRICK = /[;\\\u0000-\u0020\u007f]|\/\/|%(?:2f|5c|00)|\/(?:\.|%2e){1,2}(?:\/|$)/i

const isTrick = (path: string): boolean => !path.startsWith('/') || TRICK.test(path)

function isOneOf(path: string, matches: readonly PathMatch[]): boolean {
  if (matches.some((match) => isBelow(path, match))) return true
  const patterns = matches.filter(({ type }) => type === 'RegularExpression')
  return patterns.length > 0 && isMatched(path, patterns)
}

function isBelow(path: string, match: PathMatch): boolean {
  if (match.type === 'RegularExpression') return false
  if (path === match.value || (match.type === 'PathPrefix' && match.value === '/')) return true
  return match.type === 'PathPrefix' && path.startsWith(`${match.value}/`)
}

/** Within one budget for all patterns, as the path is the client's: one that takes longer does not match. */
function isMatched(path: string, matches: readonly PathMatch[]): boolean {
  const matched = (match: PathMatch): boolean => {
    const pattern = patternOf(match)
    return pattern !== undefined && matchesCompiled(path, pattern)
  }
  try {
    return spending(new Budget(), () => matches.some(matched))
  } catch {
    return false
  }
}
