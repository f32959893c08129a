// Values of headers that repeat parts of a message ("Value Encoding" of revision 2026-07-28): plain ASCII, or
// =?base64?…?= around the UTF-8 of anything else.

import { decodeUtf8 } from '../../kit/utf8.js'

/** Values by lower-case name; a list: sent more than once. */
export type HttpHeaderValues = ReadonlyMap<string, string | readonly string[]>

/** Whether it has no character of which servers could make another one. */
export const isAscii = (value: string): boolean => /^[\t\x20-\x7e]*$/.test(value)

const ENCODED = /^=\?base64\?(.*)\?=$/
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** undefined: neither of both forms. A text that looks like the second must be encoded itself. */
export function decodedHeader(value: string): string | undefined {
  if (!isAscii(value)) return undefined
  const [, base64] = ENCODED.exec(value) ?? []
  if (base64 === undefined) return value
  if (!BASE64.test(base64)) return undefined
  const bytes = Buffer.from(base64, 'base64')
  const isExact = bytes.toString('base64').replaceAll('=', '') === base64.replaceAll('=', '')
  return isExact ? decodeUtf8(bytes) : undefined
}

/** Returns the value that decodes to the text. */
export const encodedHeader = (text: string): string =>
  PLAIN.test(text) && !ENCODED.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`
