import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { buildCrds } from '../../../../src/control/schema/crd/crd.js'
import type { Json, JsonObject } from '../../../../src/model/json.js'
import { isJsonObject } from '../../../../src/model/json.js'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
/** The Helm chart has a copy, as Helm reads no file outside of a chart. */
const FOLDERS = ['config/crd', 'deploy/helm/gatehouse/crds']

const crds = buildCrds('policy.gatehouse.dev')
const nameOf = (crd: JsonObject) => (crd['metadata'] as { name: string }).name

const at = (value: Json | undefined, ...path: (string | number)[]): Json | undefined =>
  path.reduce<Json | undefined>(
    (inner, part) =>
      typeof part === 'number'
        ? (inner as readonly Json[])[part]
        : isJsonObject(inner)
          ? inner[part]
          : undefined,
    value,
  )

const schemaOf = (crd: JsonObject | undefined) =>
  at(crd, 'spec', 'versions', 0, 'schema', 'openAPIV3Schema')

/** Every schema within one, with its path. */
function within(schema: Json | undefined, path: string): [string, JsonObject][] {
  if (!isJsonObject(schema)) return []
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {}
  return [
    [path, schema],
    ...Object.entries(properties).flatMap(([name, inner]) => within(inner, `${path}.${name}`)),
    ...within(schema['items'], `${path}[]`),
    ...within(schema['additionalProperties'], `${path}{}`),
  ]
}

it.each(FOLDERS)('is what %s holds (UPDATE_GOLDEN=1 writes it anew)', (path) => {
  const folder = join(ROOT, path)
  const wanted = Object.fromEntries(
    crds.map((crd) => [`${nameOf(crd)}.yaml`, stringify(crd, { aliasDuplicateObjects: false })]),
  )
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(folder, { recursive: true })
    for (const [name, text] of Object.entries(wanted)) writeFileSync(join(folder, name), text)
  }
  const names = readdirSync(folder)
  expect(
    Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')])),
  ).toEqual(wanted)
})

// `node scripts/manifests.mjs` renders the whole file with Helm, which the unit tests do not have.
it('is what deploy/kubernetes.yaml holds (UPDATE_GOLDEN=1 writes it anew)', () => {
  const path = join(ROOT, 'deploy/kubernetes.yaml')
  const documents = readFileSync(path, 'utf8').split(/^---\n/m)
  const wanted = documents.map((text) => {
    const crd = crds.find((one) => /^  name: (.+)$/m.exec(text)?.[1] === nameOf(one))
    if (crd === undefined || !/^kind: CustomResourceDefinition$/m.test(text)) return text
    const [end = ''] = /\n*$/.exec(text) ?? []
    return stringify(crd, { aliasDuplicateObjects: false }).trimEnd() + end
  })
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, wanted.join('---\n'))
  expect(documents.filter((text) => /^kind: CustomResourceDefinition$/m.test(text))).toHaveLength(
    crds.length,
  )
  expect(readFileSync(path, 'utf8') === wanted.join('---\n')).toBe(true)
})

it('uses only what a structural schema may have', () => {
  const allowed = new Set([
    'type',
    'format',
    'description',
    'default',
    'enum',
    'pattern',
    'required',
    'properties',
    'items',
    'additionalProperties',
    'minimum',
    'maximum',
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'maxProperties',
    'x-kubernetes-preserve-unknown-fields',
    'x-kubernetes-list-type',
    'x-kubernetes-list-map-keys',
    'x-kubernetes-validations',
  ])
  const strangers = crds.flatMap((crd) =>
    within(schemaOf(crd), nameOf(crd)).flatMap(([path, schema]) => [
      ...Object.keys(schema)
        .filter((key) => !allowed.has(key))
        .map((key) => `${path}: ${key}`),
      ...(typeof schema['type'] === 'string' ? [] : [`${path}: no type`]),
      ...(schema['properties'] !== undefined && schema['additionalProperties'] !== undefined
        ? [`${path}: properties and additionalProperties`]
        : []),
    ]),
  )
  expect(strangers).toEqual([])
})

it('describes every field', () => {
  const bare = crds.flatMap((crd) =>
    within(schemaOf(crd), nameOf(crd))
      .filter(([path, schema]) => !/(\[\]|\{\}|\.metadata)$/.test(path) && !schema['description'])
      .map(([path]) => path),
  )
  expect(bare).toEqual([])
})

it('keeps the free map of resourceMetadata free', () => {
  const policy = crds.find((crd) => nameOf(crd).startsWith('proxypolicies'))
  const free = within(schemaOf(policy), '').find(([path]) => path.endsWith('.resourceMetadata'))
  expect(free?.[1]).toMatchObject({
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: { scopesSupported: { type: 'array', items: { type: 'string', minLength: 1 } } },
  })
})

it('takes enums, defaults, bounds and patterns over from the schemas', () => {
  const policy = crds.find((crd) => nameOf(crd).startsWith('proxypolicies'))
  const fields = new Map(within(schemaOf(policy), ''))
  const jwt = '.spec.traffic.jwtAuthentication'
  expect(fields.get(`${jwt}.mode`)).toMatchObject({
    default: 'Strict',
    enum: ['Strict', 'Optional', 'Permissive'],
  })
  expect(fields.get(`${jwt}.providers[].jwks.remote.backendRef.port`)).toMatchObject({
    type: 'integer',
    minimum: 1,
    maximum: 65_535,
  })
  expect(fields.get('.spec.backend.http.requestTimeout')).toMatchObject({
    type: 'string',
    pattern: '^([0-9]{1,5}(h|m|s|ms)){1,4}$',
  })
  expect(fields.get('.spec')?.['required']).toEqual(['targetRefs'])
})

it('is of the API group that is asked for', () => {
  const [first] = buildCrds('policy.example.com')
  expect(first).toMatchObject({
    metadata: { name: 'proxybackends.policy.example.com' },
    spec: { group: 'policy.example.com' },
  })
})

it('reads back from YAML as it is', () => {
  for (const crd of crds) expect(parse(stringify(crd))).toEqual(crd)
})
