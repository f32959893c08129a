// Reads members of objects as received from an API server.

import { isJsonObject, type Json, type JsonObject } from '../../../model/json.js'

/** Returns a member that is an object; else an empty one. */
export function memberOf(object: JsonObject, name: string): JsonObject {
  const value = object[name]
  return isJsonObject(value) ? value : {}
}

/** Returns the objects in a member that is a list. */
export function objectsOf(object: JsonObject, name: string): readonly JsonObject[] {
  const value = object[name]
  return Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : []
}

/** Returns a member that is a string. */
export const textOf = (value: Json | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined
