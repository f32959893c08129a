// Registers fields that an API defines and Gatehouse does not implement: reported in a condition, not as misspelt.

import { z } from 'zod'

const registry = z.registry<{ readonly fields: readonly string[] }>()

/** Registers the fields that the object's API defines beyond those of the schema. */
export function unimplemented<T extends z.ZodType>(schema: T, fields: readonly string[]): T {
  registry.add(schema, { fields })
  return schema
}

/** Returns the fields registered by unimplemented() for the schema; empty for any other schema. */
export const unimplementedFields = (schema: z.core.$ZodType): readonly string[] =>
  registry.get(schema)?.fields ?? []
