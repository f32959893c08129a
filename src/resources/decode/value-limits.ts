// Counts the values of an object before its schema sees them: all of them are decoded in one step of the event loop.

import type { z } from 'zod'
import { isMap, type PlainMap } from './plain-map.js'

/** What an object may have at most: HTTPRoutes of 128 matches with 32 conditions each have about 17,000 values. */
const MOST_VALUES = 20_000
/** Keys in one map. A map of thousands is a hash table, and each key costs as much as ten values elsewhere. */
const MOST_KEYS = 2_000
const MOST_LEVELS = 100

/**
 * Returns why a value is too large to be decoded in one step, e.g. "has more than 20000 values"; undefined: it is not.
 * Stops counting there.
 * @param schema given: only the fields that it has are counted.
 */
export function excessOf(value: unknown, schema?: z.core.$ZodType): string | undefined {
  const count: Count = { values: 0, excess: undefined }
  countValues(value, schema, 0, count)
  return count.excess
}

interface Count {
  values: number
  /** Ends the counting. */
  excess: string | undefined
}

function countValues(
  value: unknown,
  schema: z.core.$ZodType | undefined,
  level: number,
  count: Count,
): void {
  count.values += 1
  if (count.values > MOST_VALUES) count.excess = `has more than ${MOST_VALUES} values`
  if (level > MOST_LEVELS) count.excess = `is nested more than ${MOST_LEVELS} levels deep`
  if (count.excess !== undefined || typeof value !== 'object' || value === null) return
  const inner = schema && unwrapped(schema)
  if (Array.isArray(value)) {
    const element = inner?.type === 'array' ? inner.element : undefined
    for (const each of value as readonly unknown[]) {
      countValues(each, element, level + 1, count)
      if (count.excess !== undefined) return
    }
    return
  }
  const map = value as PlainMap
  const shape = inner?.type === 'object' ? inner.shape : undefined
  const keys = shape === undefined ? Object.keys(map) : readKeys(map, shape)
  if (keys.length > MOST_KEYS) count.excess = `has a map with more than ${MOST_KEYS} keys`
  for (const key of keys) {
    if (count.excess !== undefined) return
    countValues(map[key], shape?.[key], level + 1, count)
  }
}

/**
 * Returns the part of a value that its schema has, without the nulls that tools write for fields that they leave unset.
 */
export function readPart(schema: z.core.$ZodType, value: unknown): unknown {
  const inner = unwrapped(schema)
  if (inner.type === 'array' && Array.isArray(value))
    return value.filter((entry) => entry !== null).map((entry) => readPart(inner.element, entry))
  if (!isMap(value)) return value
  if (inner.type === 'record')
    return Object.values(value).includes(null)
      ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
      : value
  if (inner.type !== 'object') return value
  const keys = readKeys(value, inner.shape).filter((key) => value[key] !== null)
  return Object.fromEntries(
    keys.map((key) => {
      const field = inner.shape[key]
      return [key, field === undefined ? value[key] : readPart(field, value[key])]
    }),
  )
}

const readKeys = (map: PlainMap, shape: z.core.$ZodShape): readonly string[] =>
  Object.keys(shape).filter((key) => Object.hasOwn(map, key))

/** Returns the definition of a schema without what surrounds it: defaults, transformations. */
function unwrapped(schema: z.core.$ZodType): z.core.$ZodTypes['_zod']['def'] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
      return unwrapped(def.innerType)
    case 'pipe':
      return unwrapped(def.in)
    default:
      return def
  }
}
