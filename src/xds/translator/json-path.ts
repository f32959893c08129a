// Reading of Envoy's JSON by member names; what is not there is empty.

import type { Json, JsonObject } from '../../ir/json.js'

const EMPTY: JsonObject = {}

const isObject = (json: Json | undefined): json is JsonObject =>
  typeof json === 'object' && json !== null && !Array.isArray(json)

const at = (json: JsonObject, path: readonly string[]): Json | undefined => {
  let found: Json | undefined = json
  for (const name of path) {
    if (!isObject(found)) return undefined
    found = found[name]
  }
  return found
}

export const objectAt = (json: JsonObject, ...path: string[]): JsonObject => {
  const found = at(json, path)
  return isObject(found) ? found : EMPTY
}

export const objectsAt = (json: JsonObject, ...path: string[]): readonly JsonObject[] => {
  const found = at(json, path)
  return Array.isArray(found) ? found.filter(isObject) : []
}

export const textAt = (json: JsonObject, ...path: string[]): string | undefined => {
  const found = at(json, path)
  return typeof found === 'string' ? found : undefined
}

/** The text as a list of one, or none. */
export const textsAt = (json: JsonObject, ...path: string[]): readonly string[] => {
  const found = textAt(json, ...path)
  return found === undefined ? [] : [found]
}
