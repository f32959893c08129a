// Checks that a path is one of the entry's (decision 8). Envoy normalises paths; this is a second check.

import type { Work } from '../kit/turns.js'
import type { PathMatch } from '../model/route.js'
import { Budget, spending } from './cel/budget.js'
import { holdPattern, matchesCompiled, wholePattern } from './cel/patterns.js'

/** Why a path does not belong to an entry. */
export type PathFault = 'path-trick' | 'path-mismatch'

/** path: with or without a query. undefined: the path is acceptable. */
export function pathFault(path: string, paths: CompiledPaths): PathFault | undefined {
  const queryAt = path.search(/[?#]/)
  const plain = queryAt === -1 ? path : path.slice(0, queryAt)
  if (isTrick(plain)) return 'path-trick'
  return isOneOf(plain, paths) ? undefined : 'path-mismatch'
}

/** The paths of an entry. */
export interface CompiledPaths {
  /** Without regular expressions. */
  readonly plain: readonly PathMatch[]
  readonly patterns: readonly CompiledPattern[]
}

type CompiledPattern = ReturnType<typeof holdPattern>

/** Compiles the patterns of an entry's paths, so that no request waits for it. */
export function* compilePaths(matches: readonly PathMatch[]): Work<CompiledPaths> {
  const plain = matches.filter(({ type }) => type !== 'RegularExpression')
  const patterns: CompiledPattern[] = []
  for (const match of matches) {
    if (match.type !== 'RegularExpression') continue
    const pattern = patternOf(match)
    if (pattern !== undefined) patterns.push(pattern)
    yield
  }
  return { plain, patterns }
}

/** undefined: not a pattern, which the translation rejects. */
function patternOf({ value }: PathMatch): CompiledPattern | undefined {
  try {
    return holdPattern(wholePattern(value))
  } catch {
    return undefined
  }
}

/**
 * Matches what servers interpret differently: parameters after a semicolon, backslashes, empty segments, control
 * characters, escaped slashes, backslashes and NUL, and dot segments, escaped or not.
 */
const TRICK = /[;\\\u0000-\u0020\u007f]|\/\/|%(?:2f|5c|00)|\/(?:\.|%2e){1,2}(?:\/|$)/i

const isTrick = (path: string): boolean => !path.startsWith('/') || TRICK.test(path)

const isOneOf = (path: string, { plain, patterns }: CompiledPaths): boolean =>
  plain.some((match) => isBelow(path, match)) || (patterns.length > 0 && isMatched(path, patterns))

function isBelow(path: string, match: PathMatch): boolean {
  if (path === match.value || (match.type === 'PathPrefix' && match.value === '/')) return true
  return match.type === 'PathPrefix' && path.startsWith(`${match.value}/`)
}

/** Within one budget for all patterns, as the path is the client's: one that takes longer does not match. */
function isMatched(path: string, patterns: readonly CompiledPattern[]): boolean {
  try {
    return spending(new Budget(), () => patterns.some((each) => matchesCompiled(path, each)))
  } catch {
    return false
  }
}
