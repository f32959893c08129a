// Plain values of documents: maps, and the value at a path.

import type { FieldPath } from '../kinds/field-path.js'

/** An object that is not an array. */
export type PlainMap = Readonly<Record<string, unknown>>

/** Whether a value is an object and not an array. */
export const isMap = (value: unknown): value is PlainMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the value at the path; undefined if absent. Inherited members do not count. */
export const valueAt = (value: unknown, path: FieldPath): unknown =>
  path.reduce<unknown>(
    (inner, part) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, part)
        ? (inner as Record<PropertyKey, unknown>)[part]
        : undefined,
    value,
  )
