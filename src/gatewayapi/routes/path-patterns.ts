// Regular expressions in the matches of HTTPRoutes: which of them Envoy can compile, and what they match.

import { matchesWhole, patternSize } from '../../cel/patterns.js'

/**
 * Maximum size of a pattern, in instructions of Gatehouse's own compiler. Envoy needs up to 16 for each of them, and
 * its limit is set to fit (runtime.ts of xds).
 */
const MAX_PATTERN_SIZE = 500

/**
 * Whether Envoy can compile the pattern. If not, Envoy would NACK the whole route configuration, with all its routes.
 * Envoy compiles bytes, not characters: code points beyond 255 and Unicode classes have no meaning or are errors.
 */
export function isPattern(pattern: string): boolean {
  if (!/^[\x20-\x7e]+$/.test(pattern) || /\\(?:p|x\{)/i.test(pattern)) return false
  try {
    return patternSize(pattern) <= MAX_PATTERN_SIZE
  } catch {
    return false
  }
}

/** What is expected in place of an unusable regular expression. */
export const PATTERN_EXPECTED =
  'expected a regular expression of RE2 that Envoy accepts: ASCII, without \\p and \\x{…}, not too long'

/** Whether the pattern of a path match, which need not be valid, matches the whole path. */
export const patternCovers = (pattern: string, path: string): boolean =>
  isPattern(pattern) && matchesWhole(path, pattern)
