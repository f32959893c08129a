// Converts JSON to CEL values: objects become maps (no claim is confused with a member of Object), whole numbers int.

import { GatehouseError } from '../../kit/errors.js'
import type { Json, JsonObject } from '../../model/json.js'

/** A value in the form of the library. */
export type CelValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Date
  | readonly CelValue[]
  | ReadonlyMap<string, CelValue>

/** Maximum nesting of JSON values, since conversion and comparison recurse. */
export const MAX_VALUE_DEPTH = 100

/** Work that exceeds a limit. */
export class CelLimitError extends GatehouseError {
  readonly code: string = 'limit_exceeded'
}

/**
 * Converts whole numbers that JSON.parse kept exactly to int, and all others to double, as JSON has only one kind.
 * readText: converts strings other than member names.
 */
export function toCelValue(json: Json, depth = 0, readText?: ReadText): CelValue {
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : json
  if (typeof json === 'string') return readText === undefined ? json : readText(json)
  if (typeof json !== 'object' || json === null) return json
  if (depth >= MAX_VALUE_DEPTH) throw new CelLimitError('nested too deeply')
  if (isArray(json)) return json.map((item) => toCelValue(item, depth + 1, readText))
  return objectToMap(json, depth, readText)
}

type ReadText = (text: string) => string | bigint

const isArray = (json: readonly Json[] | JsonObject): json is readonly Json[] => Array.isArray(json)

function objectToMap(json: JsonObject, depth: number, readText?: ReadText): CelValue {
  const map = new Map<string, CelValue>()
  for (const key of Object.keys(json))
    map.set(key, toCelValue(json[key] ?? null, depth + 1, readText))
  return map
}

/** JSON.rawJSON() makes a value that JSON.stringify() writes as it is; TypeScript does not know it. */
const { rawJSON } = JSON as unknown as { rawJSON(this: void, text: string): Json }

/** The reverse, for JSON.stringify() in toJson(). Bytes become base64; an int stays exact. */
export function fromCelValue(value: unknown, depth = 0): Json {
  if (depth >= MAX_VALUE_DEPTH) throw new CelLimitError('nested too deeply')
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : rawJSON(String(value))
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return value
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return value.map((item) => fromCelValue(item, depth + 1))
  if (value instanceof Map) return entriesToJson([...value.entries()], depth)
  if (isPlainObject(value)) return entriesToJson(Object.entries(value), depth)
  throw new CelLimitError('has no JSON form')
}

/**
 * Prototype of the maps that expressions write out: it has no __proto__, which the library would take for a member, so that
 * {"role": "admin"} would equal a claim {"__proto__": {}}. It has what the library calls.
 */
const MAP_PROTOTYPE = Object.create(
  null,
  Object.fromEntries(
    Object.entries(Object.getOwnPropertyDescriptors(Object.prototype)).filter(
      ([name]) => name !== '__proto__',
    ),
  ),
) as object

/** Returns a map for an expression to fill. */
export const emptyMap = (): Record<string, unknown> =>
  Object.create(MAP_PROTOTYPE) as Record<string, unknown>

/** Whether a value is a map that an expression wrote out, or that Gatehouse made. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === MAP_PROTOTYPE
}

const entriesToJson = (entries: readonly (readonly [unknown, unknown])[], depth: number): Json =>
  Object.fromEntries(entries.map(([key, item]) => [String(key), fromCelValue(item, depth + 1)]))
