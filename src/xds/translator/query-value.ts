// Matches a query parameter's value in every encoding. Envoy compares the value as the client sent it.

import { escapeRegex } from '../../ir/regex.js'

/** Characters with a special meaning in a query unless they are percent-encoded. */
const ALWAYS_ENCODED = new Set(['+', '%', '&', '#'])

/** Returns a regular expression for all forms of the value: characters or percent-encoded bytes, "+" for a space. */
export const encodedForms = (value: string): string => Array.from(value, formsOf).join('')

function formsOf(character: string): string {
  const encoded = Array.from(Buffer.from(character), percentEncoded).join('')
  if (character === ' ') return `(?:\\+|${encoded})`
  return ALWAYS_ENCODED.has(character) || character > '\x7e' || character < '\x20'
    ? encoded
    : `(?:${escapeRegex(character)}|${encoded})`
}

const percentEncoded = (byte: number): string =>
  `%${byte
    .toString(16)
    .padStart(2, '0')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`
