// Types for plain JSON (goldens, fetched documents, Envoy resources), and a parser with limits.

/** A JSON value (RFC 8259). */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json
}

/** JSON whose large parts are functions that are called on demand, for values that take long to build as a whole. */
export type LazyJson =
  null | boolean | number | string | readonly LazyJson[] | LazyJsonObject | (() => LazyJson)

/** A JSON object with lazy members. */
export interface LazyJsonObject {
  readonly [key: string]: LazyJson
}

/** Whether the value is an object, not an array or null. */
export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns undefined if the body is not UTF-8 or not JSON. (Errors of JSON.parse quote their input.) */
export function parseJson(body: Uint8Array): Json | undefined {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as Json
  } catch {
    return undefined
  }
}

/**
 * Whether the body is within the limits, estimated from its punctuation without parsing. Both values and depth of a
 * foreign document cost time and stack when it is read, compared and written.
 */
export function isJsonWithin(body: Uint8Array, maxValues: number, maxDepth: number): boolean {
  let [values, depth] = [1, 0]
  let isString = false
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at]
    if (byte === BACKSLASH) at += 1
    else if (byte === QUOTE) isString = !isString
    else if (isString) continue
    else if (byte === COMMA) values += 1
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) [values, depth] = [values + 1, depth + 1]
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1
    if (values > maxValues || depth > maxDepth) return false
  }
  return true
}

const [BACKSLASH, QUOTE, COMMA] = [0x5c, 0x22, 0x2c]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d]
