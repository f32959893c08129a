// Generates docs/reference.md from the kinds' schemas: every field with its type, default, bounds, an example and the
// version that introduced it.

import { buildCrds } from '../../src/control/schema/crd/crd.js'
import { editorKinds, fieldsSchema } from '../../src/control/schema/crd/editor-schema.js'
import { unimplementedFields } from '../../src/control/schema/kinds/unimplemented.js'
import { isJsonObject, type Json, type JsonObject } from '../../src/model/json.js'

/** One field: a row of a table. */
export interface Field {
  /** Path below spec, e.g. `providers[].issuer`. */
  readonly path: string
  readonly type: string
  /** Default value as YAML; "required" for a field without which the document is rejected. */
  readonly preset: string
  readonly meaning: string
  readonly example: string
  readonly since: string
}

/** The version of fields that name no other. */
const FIRST_VERSION = '0.1.0'

const API_GROUP = 'policy.gatehouse.dev'

/** Returns the fields below spec of each kind that users write, in schema order. */
export const fieldsOfKinds = (): ReadonlyMap<string, readonly Field[]> =>
  new Map(
    editorKinds(API_GROUP).map((kind) => [
      kind.kind,
      fieldsOf(fieldsSchema(kind), '', FIRST_VERSION),
    ]),
  )

const at = (object: Json | undefined, key: string): Json | undefined =>
  isJsonObject(object) ? object[key] : undefined

/** since: the version of the object; a schema that objects share may have an older one. */
function fieldsOf(schema: JsonObject, path: string, since: string): readonly Field[] {
  const { properties, required } = membersOf(schema)
  return Object.entries(properties).flatMap(([name, value]) => {
    const property = value as JsonObject
    const own = path === '' ? name : `${path}.${name}`
    const items = at(property, 'items')
    const field = fieldOf(property, own, required.includes(name), since)
    const [inner, below] = isJsonObject(items) ? [items, `${own}[]`] : [property, own]
    return [field, ...fieldsOf(inner, below, field.since)]
  })
}

interface Members {
  readonly properties: JsonObject
  readonly required: readonly Json[]
}

/** Returns the members of an object, or of all variants of one that a member (such as type) distinguishes. */
function membersOf(schema: JsonObject): Members {
  const variants = (schema['oneOf'] ?? schema['anyOf']) as readonly JsonObject[] | undefined
  if (variants === undefined) {
    const { properties, required } = schema
    const names = (required ?? []) as readonly Json[]
    return { properties: isJsonObject(properties) ? properties : {}, required: names }
  }
  const members = variants.map(membersOf)
  const properties: Record<string, Json> = {}
  for (const [name, property] of members.flatMap((each) => Object.entries(each.properties)))
    properties[name] = merged(properties[name], property as JsonObject)
  const required = Object.keys(properties).filter((name) =>
    members.every((each) => each.required.includes(name)),
  )
  return { properties, required }
}

/** Merges a member of several variants: their constants are its choices, and the first one has its description. */
function merged(before: Json | undefined, property: JsonObject): JsonObject {
  const { const: constant, ...rest } = property
  if (constant === undefined) return isJsonObject(before) ? before : property
  const choices = (at(before, 'enum') ?? []) as readonly Json[]
  return { ...rest, ...(isJsonObject(before) && before), enum: [...choices, constant] }
}

const fieldOf = (
  property: JsonObject,
  path: string,
  isRequired: boolean,
  least: string,
): Field => ({
  path,
  type: typeOf(property),
  preset:
    property['default'] === undefined ? (isRequired ? 'required' : '') : code(property['default']),
  meaning: text(property['description'], ''),
  example: exampleOf(property),
  since: [least, text(property['since'], FIRST_VERSION)].toSorted().at(-1) ?? least,
})

const code = (value: Json): string => `\`${JSON.stringify(value)}\``

/** Returns the schema's example, or one derived from it; empty for objects, whose fields have examples. */
function exampleOf(property: JsonObject): string {
  if (property['example'] !== undefined) return code(property['example'])
  const choices = property['enum'] as readonly Json[] | undefined
  if (choices !== undefined) return code(choices.at(-1) ?? '')
  if (property['type'] === 'boolean') return '`true`'
  return property['default'] === undefined || isEmpty(property['default'])
    ? ''
    : code(property['default'])
}

const isEmpty = (value: Json): boolean => typeof value === 'object'

function typeOf(property: JsonObject): string {
  const choices = (property['enum'] ?? property['values']) as readonly Json[] | undefined
  if (choices !== undefined) return choices.map(code).join(', ')
  const { type } = property
  if (type === 'array') {
    const bounds = range(property['minItems'], property['maxItems'])
    return `list of ${bounds}${plural(at(property, 'items'))}`
  }
  if (isDuration(property)) return 'duration'
  if (type === 'string')
    return `string${bounded(range(property['minLength'], property['maxLength']), 'characters')}`
  if (type === 'integer')
    return `integer${bounded(range(property['minimum'], property['maximum']), '')}`
  if (at(property, 'additionalProperties') !== undefined)
    return `map${bounded(range(undefined, property['maxProperties']), 'entries')}`
  return kindOfValue(property, 'any')
}

const isDuration = ({ pattern }: JsonObject): boolean =>
  typeof pattern === 'string' && pattern.includes('(h|m|s|ms)')

const bounded = (bounds: string, unit: string): string =>
  bounds === ''
    ? ''
    : `, ${bounds}${bounds === 'at least one ' ? unit.slice(0, -1) : unit}`.trimEnd()

function range(least: Json | undefined, most: Json | undefined): string {
  const to = typeof most === 'number' && most < Number.MAX_SAFE_INTEGER ? most : undefined
  if (to === undefined) return least === 1 ? 'at least one ' : least === 0 ? 'at least 0 ' : ''
  return typeof least === 'number' && least > -Number.MAX_SAFE_INTEGER
    ? `${least} to ${to} `
    : `at most ${to} `
}

function plural(items: Json | undefined): string {
  const choices = at(items, 'enum') as readonly Json[] | undefined
  if (choices !== undefined) return `of ${choices.map(code).join(', ')}`
  return `${kindOfValue(items as JsonObject, 'value')}s`
}

/** Returns the type, which the variants of an object do not have themselves. */
const kindOfValue = (schema: JsonObject, otherwise: string): string =>
  Object.keys(membersOf(schema).properties).length > 0 ? 'object' : text(schema['type'], otherwise)

const text = (value: Json | undefined, otherwise: string): string =>
  typeof value === 'string' ? value : otherwise

const cell = (text: string): string => text.replaceAll('|', '\\|')

const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`

const TABLE_HEAD = [
  '| field | type | default | what it is | example | since |',
  '| --- | --- | --- | --- | --- | --- |',
]

const table = (fields: readonly Field[]): string =>
  [
    ...TABLE_HEAD,
    ...fields.map(({ path, type, preset, meaning, example, since }) =>
      row([`\`${path}\``, type, preset, meaning, example, since]),
    ),
  ].join('\n')

const HEAD = `# Reference

Every field of every resource, made from the schemas that Gatehouse reads with (\`npm test -- --goldens\` writes this page). Paths begin
below \`spec\`; \`[]\` stands for the items of a list. \`gatehouse schema\` prints the same for editors, and \`kubectl explain\` shows
it in a cluster. The flags are in [Settings](settings.md).

A field that is not here is an error in the kinds of Gatehouse. In those of the Gateway API it is a condition of the resource
(\`UnsupportedValue\`), or an error where it is a misspelt one. Unless a description says otherwise, references lead to the
namespace of the resource itself.`

const GATEWAY_API = `The Gateway API's own [reference](https://gateway-api.sigs.k8s.io/reference/spec/) has the rest.`

/** Returns the unformatted page. */
export function referencePage(): string {
  const fields = fieldsOfKinds()
  const sections = editorKinds(API_GROUP).map(({ kind, group, versions, strictness, schema }) => {
    const own = fields.get(kind) ?? []
    const head = `## ${kind}\n\n\`${group}/${versions[0] ?? ''}\``
    if (strictness === 'own') return `${head} · ${descriptions().get(kind) ?? ''}\n\n${table(own)}`
    const missing = unimplementedFields(schema)
    const note =
      missing.length === 0
        ? ''
        : ` Not implemented: ${missing.map((name) => `\`${name}\``).join(', ')}.`
    return `${head} · Fields that Gatehouse reads.${note} ${GATEWAY_API}\n\n${table(own)}`
  })
  return `${[HEAD, ...sections].join('\n\n')}\n`
}

const descriptions = (): ReadonlyMap<string, string> =>
  new Map(
    buildCrds(API_GROUP).map((crd) => {
      const spec = crd['spec'] as { names: { kind: string }; versions: readonly JsonObject[] }
      const schema = at(at(spec.versions[0], 'schema'), 'openAPIV3Schema')
      return [spec.names.kind, text(at(schema, 'description'), '')]
    }),
  )
