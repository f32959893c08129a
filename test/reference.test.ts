// docs/reference.md and config/schema match the kinds' schemas. `npm test -- --goldens` rewrites them.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { Ajv } from 'ajv'
import { format } from 'prettier'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import {
  anyEditorSchema,
  editorKinds,
  editorSchema,
} from '../src/control/schema/crd/editor-schema.js'
import { fieldsOfKinds, referencePage } from './support/reference-page.js'

const ROOT = resolve(import.meta.dirname, '..')
const API_GROUP = 'policy.gatehouse.dev'
const KINDS = editorKinds(API_GROUP)

test('docs/reference.md is fresh', async () => {
  const path = join(ROOT, 'docs/reference.md')
  const page = await format(referencePage(), { parser: 'markdown', printWidth: 100 })
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, page)
  expect(readFileSync(path, 'utf8')).toBe(page)
})

test('config/schema is fresh', () => {
  const folder = join(ROOT, 'config/schema')
  const schemas = {
    'any.json': anyEditorSchema(API_GROUP),
    ...Object.fromEntries(
      editorKinds(API_GROUP).map((kind) => [`${kind.kind.toLowerCase()}.json`, editorSchema(kind)]),
    ),
  }
  const wanted = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, `${JSON.stringify(schema, null, 2)}\n`]),
  )
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(folder, { recursive: true })
    for (const [name, text] of Object.entries(wanted)) writeFileSync(join(folder, name), text)
  }
  const there = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')])
  expect(Object.fromEntries(there)).toEqual(wanted)
})

test.each(KINDS.map(({ kind }) => kind))(
  'every field of %s has an example and a meaning',
  (kind) => {
    const fields = fieldsOfKinds().get(kind) ?? []
    expect(fields.length).toBeGreaterThan(0)
    const isObject = (type: string) => /^object$|^list of .*objects$/.test(type)
    expect(fields.filter(({ meaning }) => meaning === '').map(({ path }) => path)).toEqual([])
    const bare = fields.filter(({ example, type }) => example === '' && !isObject(type))
    expect(bare.map(({ path }) => path)).toEqual([])
  },
)

/** Texts that have no bounds of their own and no list of values. */
const FREE = [
  'ProxyPolicy traffic.jwtAuthentication.mcp.resourceMetadata.resource',
  'GatewayClass description',
]

test.each(KINDS.map(({ kind }) => kind))(
  'every field of %s has its bounds or its values',
  (kind) => {
    const fields = fieldsOfKinds().get(kind) ?? []
    const unbounded = fields.filter(({ type }) => type === 'string' || type === 'integer')
    const named = unbounded.map(({ path }) => `${kind} ${path}`)
    expect(named.filter((name) => !FREE.includes(name))).toEqual([])
    const versions = new Set(fields.map(({ since }) => since))
    expect([...versions].filter((since) => !['0.1.0', '0.2.0', '0.3.0'].includes(since))).toEqual(
      [],
    )
  },
)

const validate = new Ajv({ strict: false, allErrors: true }).compile(anyEditorSchema(API_GROUP))

const documentsOf = (text: string): readonly unknown[] =>
  parseAllDocuments(text).map((document) => document.toJS() as unknown)

const filesOf = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`)

/** Files of `config` with a resource that Gatehouse reads, which users copy and edit. */
const exampleFiles = (): readonly string[] =>
  (readdirSync(join(ROOT, 'config'), { recursive: true }) as string[])
    .filter((name) => /\.ya?ml$/.test(name) && !name.startsWith('crd'))
    .map((name) => `config/${name}`)
    .filter((path) => documentsOf(readFileSync(join(ROOT, path), 'utf8')).some(isOfKind))

const isOfKind = (document: unknown): boolean =>
  KINDS.some(({ kind }) => (document as { kind?: unknown } | null)?.kind === kind)

test('every example names its schema to editors', () => {
  const files = exampleFiles()
  expect(files).toEqual(expect.arrayContaining(['config/demo/policy.yaml']))
  const schemas = files.map((path) => {
    const [first = ''] = readFileSync(join(ROOT, path), 'utf8').split('\n', 1)
    const [, schema] = /^# yaml-language-server: \$schema=(\S+)$/.exec(first) ?? []
    return [path, schema && relative(ROOT, resolve(ROOT, dirname(path), schema))]
  })
  expect(schemas).toEqual(files.map((path) => [path, 'config/schema/any.json']))
})

test.each(['config/examples', 'config/demo'].flatMap(filesOf))('%s holds the schema', (path) => {
  const text = readFileSync(join(ROOT, path), 'utf8')
  for (const document of documentsOf(text))
    expect([validate(document), validate.errors]).toEqual([true, null])
})

const POLICY = {
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name: 'mcp' },
  spec: { targetRefs: [{ group: '', kind: 'Service', name: 'x' }] },
}

test.each([
  ['a misspelt field', { ...POLICY, spec: { ...POLICY.spec, trafic: {} } }],
  ['a wrong value', { ...POLICY, spec: { ...POLICY.spec, targetRefs: [] } }],
  ['another version', { ...POLICY, apiVersion: `${API_GROUP}/v9` }],
  ['a missing name', { ...POLICY, metadata: {} }],
])('the schema marks %s', (_, document) => {
  expect(validate(POLICY)).toBe(true)
  expect(validate(document)).toBe(false)
})

test('the schema lets be what Gatehouse does not read', () => {
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'x' },
    spec: {},
  }
  expect(validate(deployment)).toBe(true)
})
