// JSON Schemas (draft 7) for editors, which offer completion, descriptions and errors while typing.

import { z } from 'zod'
import type { Json, JsonObject } from '../../../model/json.js'
import { isJsonObject } from '../../../model/json.js'
import { type Kind, kindsOf } from '../kinds/kinds.js'

const DRAFT = 'http://json-schema.org/draft-07/schema#'

/** The kinds with an editor schema: Gatehouse's own and the Gateway API's. Kubernetes publishes those of core kinds. */
export const editorKinds = (apiGroup: string): readonly Kind[] =>
  kindsOf(apiGroup).filter(({ strictness }) => strictness !== 'lenient')

/**
 * Returns the schema of a document of one kind. Own kinds reject other fields; Gateway API kinds allow fields that
 * Gatehouse does not read.
 */
export const editorSchema = (kind: Kind): JsonObject => ({ $schema: DRAFT, ...documentOf(kind) })

/** Returns the schema of any document that Gatehouse reads, selected by its kind; other kinds are not checked. */
export function anyEditorSchema(apiGroup: string): JsonObject {
  const kinds = editorKinds(apiGroup)
  return {
    $schema: DRAFT,
    title: 'A resource of Gatehouse',
    type: 'object',
    required: ['apiVersion', 'kind'],
    properties: {
      apiVersion: { type: 'string', description: 'The API group and version of the document.' },
      kind: {
        description: 'The kind of the document.',
        anyOf: [{ enum: kinds.map(({ kind }) => kind) }, { type: 'string' }],
      },
      metadata: METADATA,
    },
    allOf: kinds.map(({ kind }) => ({
      if: { properties: { kind: { const: kind } }, required: ['kind'] },
      then: { $ref: `#/definitions/${kind}` },
    })),
    definitions: Object.fromEntries(kinds.map((kind) => [kind.kind, documentOf(kind)])),
  }
}

const METADATA: JsonObject = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', description: 'The name of the object.' },
    namespace: { type: 'string', description: 'Its namespace; "default" when absent.' },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    annotations: { type: 'object', additionalProperties: { type: 'string' } },
  },
}

const documentOf = ({ group, kind, versions, schema, strictness }: Kind): JsonObject => ({
  title: kind,
  type: 'object',
  required: ['apiVersion', 'kind', 'metadata', 'spec'],
  properties: {
    apiVersion: { enum: versions.map((version) => `${group}/${version}`) },
    kind: { const: kind },
    metadata: METADATA,
    spec: tidied(inputSchema(schema), strictness === 'own'),
    status: { type: 'object', description: 'What controllers report; nobody writes it by hand.' },
  },
  ...(strictness === 'own' && { additionalProperties: false }),
})

/** Returns the schema of the fields below spec before defaults are filled in, with all their annotations. */
export const fieldsSchema = ({ schema }: Kind): JsonObject => inputSchema(schema)

function inputSchema(schema: z.ZodType): JsonObject {
  const options = { io: 'input', target: 'draft-7', unrepresentable: 'any' } as const
  const json = z.toJSONSchema(schema, { ...options, reused: 'inline' })
  return without(JSON.parse(JSON.stringify(json)) as JsonObject, ['$schema'])
}

const without = (object: JsonObject, keys: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))

/** Adapts a schema for editors: closes objects whose unknown fields are errors, and drops reference-only keywords. */
function tidied(schema: JsonObject, isClosed: boolean): JsonObject {
  const kept = without(schema, ['since', 'propertyNames', 'example', 'values'])
  const isFixed = kept['properties'] !== undefined && kept['additionalProperties'] === undefined
  return {
    ...Object.fromEntries(
      Object.entries(kept).map(([key, value]) => [key, within(key, value, isClosed)]),
    ),
    // Values that a condition reports if they are others, in kinds that the API server checks.
    ...(schema['values'] !== undefined && { enum: schema['values'] }),
    ...(schema['example'] !== undefined && { examples: [schema['example']] }),
    ...(isClosed && isFixed && { additionalProperties: false }),
  }
}

function within(key: string, value: Json, isClosed: boolean): Json {
  if (!isJsonObject(value)) return value
  if (key === 'items' || key === 'additionalProperties') return tidied(value, isClosed)
  if (key !== 'properties') return value
  return Object.fromEntries(
    Object.entries(value).map(([name, property]) => [
      name,
      isJsonObject(property) ? tidied(property, isClosed) : property,
    ]),
  )
}
