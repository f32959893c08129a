// matches() by RE2: linear in the subject, which is the attacker's, whatever the pattern, which is the operator's.

import { RE2JS } from '@bufbuild/re2'
import { CelLimitError } from './values.js'

const MAX_REMEMBERED = 500
/** Of a pattern that is computed at run time. */
const MAX_PATTERN_LENGTH = 1024

const compiled = new Map<string, RE2JS>()

/** @throws when the pattern is not one of RE2. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  const fresh = RE2JS.compile(pattern)
  if (compiled.size >= MAX_REMEMBERED) forgetOldest()
  compiled.set(pattern, fresh)
  return fresh
}

/** Instructions of the compiled program. @throws as compilePattern. */
export const patternSize = (pattern: string): number => compilePattern(pattern).re2().prog.numInst()

function forgetOldest(): void {
  for (const oldest of compiled.keys()) {
    compiled.delete(oldest)
    return
  }
}

export const matchesPattern = (subject: string, pattern: string): boolean =>
  compilePattern(pattern).test(subject)

/** The pattern may be the attacker's too. @throws as compilePattern, and CelLimitError. */
export function matchesComputedPattern(subject: string, pattern: string): boolean {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new CelLimitError('pattern too long')
  return matchesPattern(subject, pattern)
}
