// Finds the fields of a value that its schema does not have.

import type { z } from 'zod'
import type { FieldPath } from '../kinds/field-path.js'
import { unimplementedFields } from '../kinds/unimplemented.js'
import { isMap } from './plain-map.js'

/** A field that the schema does not have. */
export interface UnknownField {
  readonly path: FieldPath
  /** The fields that its object may have. */
  readonly known: readonly string[]
  /** Whether the API defines the field and Gatehouse does not implement it. */
  readonly unimplemented: boolean
}

/** Returns the unknown fields. Values whose shape does not match are skipped: the schema itself rejects them. */
export function unknownFields(
  schema: z.core.$ZodType,
  value: unknown,
  path: FieldPath = [],
): UnknownField[] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object':
      return isMap(value) ? unknownOfObject(schema, def, value, path) : []
    case 'array':
      return Array.isArray(value)
        ? value.flatMap((entry, index) => unknownFields(def.element, entry, [...path, index]))
        : []
    case 'optional':
    case 'default':
    case 'prefault':
      return unknownFields(def.innerType, value, path)
    case 'pipe':
      return unknownFields(def.in, value, path)
    case 'union': {
      const option = isMap(value) ? optionOf(def, value) : undefined
      return option === undefined ? [] : unknownFields(option, value, path)
    }
    default:
      return []
  }
}

function unknownOfObject(
  schema: z.core.$ZodType,
  def: z.core.$ZodObjectDef,
  value: Readonly<Record<string, unknown>>,
  path: FieldPath,
): UnknownField[] {
  const known = Object.keys(def.shape)
  return Object.keys(value).flatMap((key) => {
    const field = Object.hasOwn(def.shape, key) ? def.shape[key] : undefined
    if (field !== undefined) return unknownFields(field, value[key], [...path, key])
    if (def.catchall !== undefined) return []
    const unimplemented = unimplementedFields(schema).includes(key)
    return [{ path: [...path, key], known, unimplemented }]
  })
}

/** Returns the option of a discriminated union that the value selects. */
function optionOf(
  def: z.core.$ZodUnionDef,
  value: Readonly<Record<string, unknown>>,
): z.core.$ZodType | undefined {
  const { discriminator } = def as Partial<z.core.$ZodDiscriminatedUnionDef>
  if (discriminator === undefined) return undefined
  return def.options.find((option) =>
    option._zod.propValues?.[discriminator]?.has(value[discriminator] as z.core.util.Primitive),
  )
}
