// Estimates what the character classes of a pattern cost to compile, in addition to their number: when case is ignored,
// every character of a range is looked up.

/** Steps for a Unicode class, whose ranges are copied, and folded with (?i). */
const STEPS_PER_PROPERTY = 5000
/** Steps for each character of a range, with (?i). */
const STEPS_PER_CHARACTER = 1.5
/** The last character that has another case. */
const LAST_WITH_CASE = 0x1e943

const IGNORES_CASE = /\(\?[A-Za-z]*i/
const TOKEN =
  /\\[pP](?:\{[^}]{0,64}\}|.)|\\x\{([0-9A-Fa-f]{1,6})\}|\\x([0-9A-Fa-f]{2})|\\([0-7]{1,3})|\\.|./gsu

/** Returns an estimate, which also counts what only looks like a range, outside of classes. */
export function classSteps(pattern: string): number {
  const steps = IGNORES_CASE.test(pattern) ? STEPS_PER_CHARACTER : 0
  let total = 0
  let first: number | undefined
  let isRange = false
  for (const [token, ...codes] of pattern.matchAll(TOKEN)) {
    if (/^\\[pP]/.test(token)) total += STEPS_PER_PROPERTY
    if (token === '-' && first !== undefined && !isRange) {
      isRange = true
      continue
    }
    const code = codeOf(token, codes)
    if (isRange && first !== undefined) total += spanOf(first, code) * steps
    first = isRange ? undefined : code
    isRange = false
  }
  return total
}

function codeOf(token: string, [long, short, octal]: readonly (string | undefined)[]): number {
  const hex = long ?? short
  if (hex !== undefined) return parseInt(hex, 16)
  return octal === undefined ? (token.codePointAt(token.length - 1) ?? 0) : parseInt(octal, 8)
}

const spanOf = (from: number, to: number): number =>
  Math.max(0, Math.min(to, LAST_WITH_CASE) - from)

/** Whether a pattern names a Unicode class. Making its table, at first use, takes as long as a thousand patterns. */
export const namesProperty = (pattern: string): boolean => /\\[pP]/.test(pattern)
