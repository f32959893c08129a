// How expressions see maps and lists: those of requests, and those that expressions write out or make.

import { Optional } from '@marcbachmann/cel-js'
import { charge } from './budget.js'
import { evaluationError } from './expression-error.js'
import { emptyMap, isPlainObject } from './values.js'

/** True for a map that has the member, false for any other value. */
export function hasMember(base: unknown, member: string): boolean {
  if (base instanceof Map) return base.has(member)
  if (base instanceof Optional) return base.hasValue() && hasMember(base.value(), member)
  return isPlainObject(base) && Object.hasOwn(base, member)
}

/** A map of a request, or one that an expression writes out. */
export type MapValue = ReadonlyMap<unknown, unknown> | Readonly<Record<string, unknown>>

/** Whether a value is a map of CEL, made by an expression or from JSON. */
export const isMapValue = (value: unknown): value is MapValue =>
  value instanceof Map || isPlainObject(value)

/** Returns a map as one of JavaScript. */
export const mapEntries = (map: MapValue): ReadonlyMap<unknown, unknown> =>
  map instanceof Map
    ? (map as ReadonlyMap<unknown, unknown>)
    : new Map<unknown, unknown>(Object.entries(map))

const BYTES_PER_KEY = 16

/** Maps whose keys were all numbers or bools, and are texts now: a loop over them would find none equal. */
const textual = new WeakSet<object>()

/** Returns what a loop visits: the items of a list, or the keys of a map. @throws EvaluationError for other values. */
export function itemsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[]
  if (!isMapValue(value)) throw evaluationError('invalid_comprehension_range')
  if (textual.has(value)) throw evaluationError('variable_type_mismatch')
  const keys = [...mapEntries(value).keys()]
  charge(keys.length / 4, keys.length * BYTES_PER_KEY)
  return keys
}

/** Returns a map as the library makes them: an object, whose keys are texts. */
export function mapOf(entries: readonly (readonly [unknown, unknown])[]): object {
  const map = emptyMap()
  for (const [key, item] of entries) map[String(key)] = item
  if (entries.length > 0 && entries.every(([key]) => typeof key !== 'string')) textual.add(map)
  return map
}
