// Reading of Envoy's JSON by member names; what is not there is empty.

import { isJsonObject, type Json, type JsonObject } from '../../ir/json.js'

const EMPTY: JsonObject = {}

function at(json: JsonObject, path: readonly string[]): Json | undefined {
  let found: Json | undefined = json
  for (const name of path) {
    if (!isJsonObject(found)) return undefined
    found = found[name]
  }
  return found
}

export function objectAt(json: JsonObject, ...path: string[]): JsonObject {
  const found = at(json, path)
  return isJsonObject(found) ? found : EMPTY
}

export function objectsAt(json: JsonObject, ...path: string[]): readonly JsonObject[] {
  const found = at(json, path)
  return Array.isArray(found) ? found.filter(isJsonObject) : []
}

export function textAt(json: JsonObject, ...path: string[]): string | undefined {
  const found = at(json, path)
  return typeof found === 'string' ? found : undefined
}

/** The text as a list of one, or none. */
export function textsAt(json: JsonObject, ...path: string[]): readonly string[] {
  const found = textAt(json, ...path)
  return found === undefined ? [] : [found]
}
