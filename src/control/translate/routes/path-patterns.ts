// Regular expressions in the matches of HTTPRoutes: which of them Envoy can compile, and what they match.

import { matchesWhole, patternSize } from '../../../extauthz/cel/patterns.js'
import { memo } from '../../../kit/incremental/memo.js'

/**
 * Maximum size of a pattern, in instructions of Gatehouse's own compiler. Envoy needs up to 16 for each of them, and
 * its limit is set to fit (runtime.ts of xds).
 */
const MAX_PATTERN_SIZE = 500

/**
 * Whether Envoy can compile the pattern. If not, Envoy would NACK the whole route configuration, with all its routes.
 * Envoy compiles bytes, not characters: code points beyond 255 and Unicode classes have no meaning or are errors.
 */
export const isPattern = (pattern: string): boolean => usableSize(pattern) !== undefined

/** Returns the instructions of a pattern; undefined if Envoy cannot compile it. */
function usableSize(pattern: string): number | undefined {
  if (!/^[\x20-\x7e]+$/.test(pattern) || /\\(?:p|x\{)/i.test(pattern)) return undefined
  try {
    const size = patternSize(pattern)
    return size <= MAX_PATTERN_SIZE ? size : undefined
  } catch {
    return undefined
  }
}

/** What is expected in place of an unusable regular expression. */
export const PATTERN_EXPECTED =
  'expected a regular expression of RE2 that Envoy accepts: ASCII, without \\p and \\x{…}, not too long'

/** A match by regular expression, of a path, header or query parameter. */
interface PatternMatch {
  readonly value: string
}

/**
 * Returns the instructions of a pattern, kept on the match: compiling one takes a quarter of a millisecond, and a route
 * may have thousands. undefined: Envoy cannot compile it.
 */
export const sizeOfPattern = memo(({ value }: PatternMatch): number | undefined =>
  usableSize(value),
)

/** Like isPattern(), kept on the match. */
export const isUsablePattern = (match: PatternMatch): boolean => sizeOfPattern(match) !== undefined

/** Whether the pattern of a path match, which need not be valid, matches the whole path. */
export const patternMatches = (match: PatternMatch, path: string): boolean =>
  isUsablePattern(match) && matchesWhole(path, match.value)

/** Maximum number of paths whose answers are kept on a pattern: policies come and go. */
const MOST_ANSWERS = 1_024

const answersOf = memo((_: PatternMatch) => new Map<string, boolean>())

/** Like patternMatches(), kept on the match: for the few paths of documents, which several steps ask about. */
export function patternCovers(match: PatternMatch, path: string): boolean {
  const answers = answersOf(match)
  const known = answers.get(path)
  if (known !== undefined) return known
  const isCovered = patternMatches(match, path)
  if (answers.size >= MOST_ANSWERS) answers.clear()
  answers.set(path, isCovered)
  return isCovered
}
