// JSON text → CEL values. JSON.parse rounds whole numbers beyond 2^53, and one id would be taken for another: here they
// are exact as far as int goes, which is 64 bits.

import { randomUUID } from 'node:crypto'
import type { Json } from '../ir/json.js'
import { type CelValue, toCelValue } from './values.js'

const LONG_NUMBER = /\d{16}/

/** Strings, so that nothing in them is taken for a number, and numbers. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Begins the string that stands for a long number while the text is parsed; nobody can know it. */
const MARK = `${randomUUID()} `

/** @throws SyntaxError, CelLimitError. */
export function parseJsonText(text: string): CelValue {
  const json = JSON.parse(text) as Json
  return mayBeRounded(text)
    ? toCelValue(JSON.parse(text.replace(TOKEN, marked)) as Json, 0, unmarked)
    : toCelValue(json)
}

/** False: JSON.parse reads all of it exactly. */
export const mayBeRounded = (text: string): boolean => LONG_NUMBER.test(text)

const marked = (token: string): string =>
  /^-?[1-9]\d{15,18}$/.test(token) && isInt(BigInt(token)) ? `"${MARK}${token}"` : token

const isInt = (value: bigint): boolean => BigInt.asIntN(64, value) === value

const unmarked = (text: string): string | bigint =>
  text.startsWith(MARK) ? BigInt(text.slice(MARK.length)) : text
