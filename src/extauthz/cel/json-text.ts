// Converts JSON text to CEL values. Whole numbers that fit an int (64 bits) stay exact. JSON.parse rounds those beyond
// 2^53, so that one id could pass for another.

import { randomUUID } from 'node:crypto'
import { parseNamed } from '../../kit/json/parse-named.js'
import type { Json } from '../../model/json.js'
import { type CelValue, toCelValue } from './values.js'

const LONG_NUMBER = /\d{16}/

/** Matches numbers, and strings, so that nothing inside a string is taken for a number. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Prefix of the string that replaces a long number during parsing; random, so that nobody can know it. */
const MARK = `${randomUUID()} `

/** @throws SyntaxError, CelLimitError. */
export function parseJsonText(text: string): CelValue {
  const json = parseNamed(text) as Json
  return mayBeRounded(text)
    ? toCelValue(parseNamed(text.replace(TOKEN, marked)) as Json, 0, unmarked)
    : toCelValue(json)
}

/** False: JSON.parse reads all of it exactly. */
export const mayBeRounded = (text: string): boolean => LONG_NUMBER.test(text)

const marked = (token: string): string =>
  /^-?[1-9]\d{15,18}$/.test(token) && isInt(BigInt(token)) ? `"${MARK}${token}"` : token

const isInt = (value: bigint): boolean => BigInt.asIntN(64, value) === value

const unmarked = (text: string): string | bigint =>
  text.startsWith(MARK) ? BigInt(text.slice(MARK.length)) : text
