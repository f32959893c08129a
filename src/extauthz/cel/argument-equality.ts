// Compares arguments of MCP tools. Servers coerce them ("true", 1 and "yes" for true), so that a rule which took another
// type for unequal would be bypassed: it fails instead. All numbers are one type, and null compares with everything.

import { Optional } from '@marcbachmann/cel-js'
import { isMapValue, mapEntries, type MapValue } from './collections.js'
import { evaluationError } from './expression-error.js'

/** Whether two values are equal. @throws EvaluationError where values of different types meet, in lists and maps too. */
export function equalArguments(left: unknown, right: unknown): boolean {
  const isEqual = compare(left, right)
  if (isEqual === undefined) throw otherType()
  return isEqual
}

/**
 * Whether a list or map has a value. @throws EvaluationError if it has not, and a part of it has another type: as for
 * exists(), what is found counts. isIn: as the library finds it.
 */
export function hasArgument(value: unknown, collection: unknown, isIn: () => boolean): boolean {
  if (!Array.isArray(collection)) {
    assertArgumentKey(collection, value)
    return isIn()
  }
  let isMixed = false
  for (const item of collection as readonly unknown[]) {
    const isEqual = compare(value, item)
    if (isEqual === true) return true
    isMixed ||= isEqual === undefined
  }
  if (isMixed) throw otherType()
  return false
}

/** @throws EvaluationError for a key of another type than the keys of a map, or the places of a list, have. */
export function assertArgumentKey(collection: unknown, key: unknown): void {
  if (key === null) return
  const kind = kindOf(key)
  const isKey =
    collection instanceof Map
      ? kind === 'string' || collection.size === 0
      : Array.isArray(collection)
        ? kind === 'number'
        : // The library turns the keys of a map literal into text.
          ['string', 'number', 'boolean'].includes(kind)
  if (!isKey) throw otherType()
}

/** undefined: values of different types meet. */
function compare(left: unknown, right: unknown): boolean | undefined {
  if (left === null || right === null) return left === right
  const kind = kindOf(left)
  if (kind !== kindOf(right)) return undefined
  switch (kind) {
    case 'number':
      // Of a bigint and a number, JavaScript compares the exact values.
      return numberOf(left) <= numberOf(right) && numberOf(left) >= numberOf(right)
    case 'list':
      return compareLists(left as readonly unknown[], right as readonly unknown[])
    case 'map':
      return compareMaps(mapEntries(left as MapValue), mapEntries(right as MapValue))
    case 'bytes':
      return Buffer.compare(left as Uint8Array, right as Uint8Array) === 0
    case 'optional':
      return compareLists(contentOf(left as OptionalValue), contentOf(right as OptionalValue))
    case 'object':
      return compareObjects(left as object, right as object)
    default:
      return left === right
  }
}

type Kind =
  'string' | 'boolean' | 'number' | 'list' | 'map' | 'bytes' | 'optional' | 'object' | 'other'

function kindOf(value: unknown): Kind {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number' || typeof value === 'bigint') return 'number'
  if (typeof value !== 'object' || value === null) return 'other'
  if (Array.isArray(value)) return 'list'
  if (value instanceof Uint8Array) return 'bytes'
  if (isMapValue(value)) return 'map'
  if (value instanceof Optional) return 'optional'
  // An unsigned integer is an object around a bigint.
  return typeof value.valueOf() === 'bigint' ? 'number' : 'object'
}

const numberOf = (value: unknown): bigint | number =>
  (value as { valueOf(): bigint | number }).valueOf()

const compareLists = (left: readonly unknown[], right: readonly unknown[]): boolean | undefined =>
  left.length === right.length && all(left.map((item, at) => compare(item, right[at])))

/** A mismatch counts, whatever else is unequal. */
const all = (results: readonly (boolean | undefined)[]): boolean | undefined =>
  results.includes(undefined) ? undefined : !results.includes(false)

function compareMaps(
  left: ReadonlyMap<unknown, unknown>,
  right: ReadonlyMap<unknown, unknown>,
): boolean | undefined {
  if (left.size !== right.size) return false
  // Both are asked: a map of arguments fails for a key that it has in another spelling.
  const hasKeys = [hasAll(left, right), hasAll(right, left)]
  return (
    !hasKeys.includes(false) && all([...left].map(([key, item]) => compare(item, right.get(key))))
  )
}

const hasAll = (
  map: ReadonlyMap<unknown, unknown>,
  other: ReadonlyMap<unknown, unknown>,
): boolean => [...other.keys()].every((key) => map.has(key))

interface OptionalValue {
  hasValue(): boolean
  value(): unknown
}

const contentOf = (optional: OptionalValue): readonly unknown[] =>
  optional.hasValue() ? [optional.value()] : []

/** Timestamps, durations, and types, of which there is one object each. */
function compareObjects(left: object, right: object): boolean | undefined {
  if (left === right) return true
  if (left.constructor !== right.constructor) return undefined
  if (left instanceof Date) return left.getTime() === (right as Date).getTime()
  const [one, other] = [left, right] as readonly { seconds?: unknown; nanos?: unknown }[]
  return one?.seconds !== undefined && one.seconds === other?.seconds && one.nanos === other?.nanos
}

const otherType = (): Error => evaluationError('argument_type')
