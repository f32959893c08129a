// What the classes of a pattern cost to compile, beyond their number: without regard to case, every character of a range is
// looked up.

/** Of a class of Unicode: its ranges are copied, and with (?i) folded. */
const STEPS_PER_PROPERTY = 5000
/** With (?i), for each character of a range. */
const STEPS_PER_CHARACTER = 1.5
/** No character behind it has another case. */
const LAST_WITH_CASE = 0x1e943

const IGNORES_CASE = /\(\?[A-Za-z]*i/
const TOKEN =
  /\\[pP](?:\{[^}]{0,64}\}|.)|\\x\{([0-9A-Fa-f]{1,6})\}|\\x([0-9A-Fa-f]{2})|\\([0-7]{1,3})|\\.|./gsu

/** About. Outside of classes a range is none, and counts all the same. */
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

/** Names a class of Unicode. Its table is made when it is first named, which takes as long as a thousand patterns. */
export const namesProperty = (pattern: string): boolean => /\\[pP]/.test(pattern)
