// Fields that an API has and Gatehouse does not implement: they are said in a condition, not refused as misspelt.

import { z } from 'zod'

const registry = z.registry<{ readonly fields: readonly string[] }>()

/** Notes the fields of the object that its API has beside the schema's own. */
export function unimplemented<T extends z.ZodType>(schema: T, fields: readonly string[]): T {
  registry.add(schema, { fields })
  return schema
}

/** What unimplemented() noted for the object; empty for any other schema. */
export const unimplementedFields = (schema: z.core.$ZodType): readonly string[] =>
  registry.get(schema)?.fields ?? []
