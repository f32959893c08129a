// Bytes of another party → plain JSON, without an error that quotes them.

import type { Json, JsonObject } from './ir/json.js'

/** undefined: not UTF-8 or not JSON. */
export const parseJson = (body: Uint8Array): Json | undefined => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as Json
  } catch {
    return undefined
  }
}

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
