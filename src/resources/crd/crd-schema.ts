// Converts a zod schema into a Kubernetes structural schema: JSON Schema without what the API server disallows.

import { z } from 'zod'
import type { Json, JsonObject } from '../../ir/json.js'
import { isJsonObject } from '../../ir/json.js'

/** Returns the schema of documents before defaults are filled in. */
export function structuralSchema(schema: z.ZodType): JsonObject {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' })
  return structural(JSON.parse(JSON.stringify(json)) as JsonObject)
}

/** Keywords that structural schemas lack or express otherwise; example and since are for docs/reference.md. */
const DROPPED = new Set([
  '$schema',
  'additionalProperties',
  'const',
  'example',
  'propertyNames',
  'since',
])

const structural = (schema: JsonObject): JsonObject => ({
  ...Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !DROPPED.has(key))
      .map(([key, value]) => [key, nested(key, value)]),
  ),
  ...(schema['const'] !== undefined && { enum: [schema['const']] }),
  ...members(schema['additionalProperties']),
})

function nested(key: string, value: Json): Json {
  if (key === 'items' && isJsonObject(value)) return structural(value)
  if (key !== 'properties' || !isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, property]) => [
      name,
      isJsonObject(property) ? structural(property) : property,
    ]),
  )
}

/** Converts additionalProperties; an empty schema allows any members. */
function members(additional: Json | undefined): JsonObject {
  if (!isJsonObject(additional)) return {}
  return Object.keys(additional).length === 0
    ? { 'x-kubernetes-preserve-unknown-fields': true }
    : { additionalProperties: structural(additional) }
}
