// Finds the ends of the values of JSON that are no strings, objects or arrays (RFC 8259, sections 3 and 6).

/** Type of a scalar. */
export type ScalarType = 'null' | 'true' | 'false' | 'number'

/** Limits digits, and so the time for one number. Nobody keeps a number with more. */
const NUMBER = /-?(?:0|[1-9]\d{0,511})(?:\.\d{1,511})?(?:[eE][+-]?\d{1,19})?/y

/** Digits of an integer that needs no pattern, which takes longer to start. */
const FEW_DIGITS = 15

/** Returns the type that a scalar has by its first character, or of a number if it is none. */
export function scalarTypeAt(text: string, at: number): ScalarType {
  switch (text.charCodeAt(at)) {
    case 0x6e:
      return 'null'
    case 0x74:
      return 'true'
    case 0x66:
      return 'false'
    default:
      return 'number'
  }
}

/** Returns the offset behind a scalar of this type; undefined: there is none. */
export function endOfScalar(text: string, at: number, type: ScalarType): number | undefined {
  if (type === 'number') return endOfInteger(text, at) ?? endOfNumber(text, at)
  return text.startsWith(type, at) ? at + type.length : undefined
}

function endOfNumber(text: string, at: number): number | undefined {
  NUMBER.lastIndex = at
  return NUMBER.test(text) ? NUMBER.lastIndex : undefined
}

/** Returns the end of a short integer without a sign; undefined: it may be another number, or none. */
function endOfInteger(text: string, start: number): number | undefined {
  const first = text.charCodeAt(start)
  if (!isDigit(first)) return undefined
  let end = start + 1
  if (first !== 0x30) while (end - start < FEW_DIGITS && isDigit(text.charCodeAt(end))) end += 1
  const next = text.charCodeAt(end)
  // After a dot, an exponent or one more digit, the pattern decides.
  return next === 0x2e || next === 0x65 || next === 0x45 || isDigit(next) ? undefined : end
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
