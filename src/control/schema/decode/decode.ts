// Decodes one YAML or JSON document into its resources (one, or the items of a List) and problems.

import type { Result } from '../../../kit/result.js'
import { similarWord } from '../../../kit/similar.js'
import type { EntryLines } from '../kinds/entry-lines.js'
import { type FieldPath, formatPath } from '../kinds/field-path.js'
import { type Kind, OTHER_GATEWAY_API_KINDS } from '../kinds/kinds.js'
import { clusterMetadata, namespacedMetadata } from '../kinds/metadata.js'
import type { Metadata, Problem, Resource, Resources } from '../kinds/resources.js'
import {
  type DecodedFields,
  decodeFields,
  type Finding,
  type FindingToDescribe,
} from './decode-fields.js'
import { isMap, type PlainMap, valueAt } from './plain-map.js'
import { findUnfit } from './unfit-value.js'
import type { DocumentText, ParsedDocument, ParsedYaml } from './yaml-document.js'
import { readUsual, type UsualDocument } from './yaml-events.js'
import { parseNodes } from './yaml-nodes.js'

/** A resource, and where it was found. */
export interface DecodedResource {
  readonly collection: keyof Resources
  readonly resource: Resource<unknown>
  /** FILE:LINE:COLUMN where it begins. */
  readonly position: string
}

/** The content of one or more documents. */
export interface Decoded {
  readonly resources: readonly DecodedResource[]
  readonly problems: readonly Problem[]
  /** Documents of kinds that Gatehouse does not read. */
  readonly notes: readonly Problem[]
}

const NOTHING: Decoded = { resources: [], problems: [], notes: [] }

/** Decodes a document. Never throws. Leaves out any resource with a problem. file is the name that messages use. */
export function decodeDocument(text: DocumentText, file: string, kinds: readonly Kind[]): Decoded {
  const parsed = parseYaml(text)
  if (parsed.ok) return decodeValue(parsed.value.value, [], contextOf(file, kinds, parsed.value))
  const problems = parsed.error.map(({ line, column, message }) => ({
    source: `${file}:${line}:${column}`,
    message,
  }))
  return { ...NOTHING, problems }
}

/**
 * Decodes an API server object with its apiVersion and kind, in one step of the event loop: one with too many values has a
 * problem. Never throws. source is the name that messages use.
 */
export const decodeObject = (object: PlainMap, source: string, kinds: readonly Kind[]): Decoded =>
  decodeValue(object, [], {
    kinds,
    isBounded: true,
    sourceOf: () => source,
    positionOf: () => source,
    linesOf: () => undefined,
  })

interface Context {
  readonly kinds: readonly Kind[]
  /** Whether its values are decoded on the event loop, where there may be only so many. */
  readonly isBounded: boolean
  /** The source of a resource: FILE:LINE, or "kubernetes". */
  sourceOf(path: FieldPath): string
  /** The position of a finding: FILE:LINE:COLUMN, or "kubernetes". */
  positionOf(path: FieldPath, part: Finding['part']): string
  /** The lines of the rules of a resource; undefined: it has none, or they are unknown. */
  linesOf(path: FieldPath, kind: Kind): EntryLines | undefined
}

const contextOf = (file: string, kinds: readonly Kind[], parsed: ParsedDocument): Context => ({
  kinds,
  isBounded: false,
  sourceOf: (path) => `${file}:${parsed.positionOf(path, 'value').line}`,
  positionOf: (path, part) => {
    const { line, column } = parsed.positionOf(path, part)
    return `${file}:${line}:${column}`
  },
  linesOf: (path, { ruleLists = [] }) => {
    const first = parsed.positionOf(path, 'value').line
    const found = ruleLists.flatMap((list) => {
      const lines = parsed.entryLines([...path, 'spec', ...list.split('.')])
      return lines.length === 0 ? [] : [[list, lines.map((line) => line - first)] as const]
    })
    return found.length === 0 ? undefined : Object.fromEntries(found)
  },
})

function decodeValue(value: unknown, path: FieldPath, context: Context): Decoded {
  if (value === null || value === undefined) return NOTHING
  const refuse = (finding: Finding): Decoded => ({
    ...NOTHING,
    problems: [problemOf(finding, path, isMap(value) ? value : {}, context)],
  })
  if (!isMap(value))
    return refuse(at([], 'a document must be a resource: a map with apiVersion and kind'))
  const { apiVersion, kind } = value
  if (typeof apiVersion !== 'string' || apiVersion === '')
    return refuse(at(['apiVersion'], 'is missing, expected the API of a resource, e.g. v1'))
  if (typeof kind !== 'string' || kind === '')
    return refuse(at(['kind'], 'is missing, expected the kind of a resource'))
  if (kind.endsWith('List') && Array.isArray(value['items']))
    return joinDecoded(
      value['items'].map((item, index) => decodeValue(item, [...path, 'items', index], context)),
    )
  const found = findKind(context.kinds, apiVersion, kind)
  if (found.type === 'kind') return decodeResource(value, path, found.kind, context)
  if (found.type === 'problem') return refuse(at([found.field], found.message))
  return { ...NOTHING, notes: [problemOf(at([], found.message), path, value, context)] }
}

const at = (path: FieldPath, message: string): Finding => ({ path, part: 'value', message })

/** Joins the contents of several documents. */
export const joinDecoded = (parts: readonly Decoded[]): Decoded => ({
  resources: parts.flatMap(({ resources }) => resources),
  problems: parts.flatMap(({ problems }) => problems),
  notes: parts.flatMap(({ notes }) => notes),
})

function decodeResource(value: PlainMap, path: FieldPath, kind: Kind, context: Context): Decoded {
  const { isBounded } = context
  const metadata = decodeFields({
    schema: kind.clusterScoped === true ? clusterMetadata : namespacedMetadata,
    value: value['metadata'],
    path: ['metadata'],
    strictness: 'lenient',
    secret: false,
    isBounded,
  })
  const body = decodeBody(value, kind, isBounded)
  const strangers = kind.strictness === 'lenient' ? [] : unknownAtTop(value)
  if (!metadata.ok || !body.ok || strangers.length > 0) {
    const findings = [metadata, body].flatMap((part) => (part.ok ? [] : part.error))
    const problems = describeSome([...strangers, ...findings]).map((finding) =>
      problemOf(finding, path, value, context),
    )
    return { ...NOTHING, problems }
  }
  const lines = context.linesOf(path, kind)
  const resource: Resource<unknown> = {
    apiVersion: String(value['apiVersion']),
    kind: kind.kind,
    metadata: metadata.value.value as Metadata,
    spec: body.value.value,
    source: context.sourceOf(path),
    ...(lines && { lines }),
    unsupported: body.value.unsupported,
  }
  const position = context.positionOf(path, 'value')
  return { ...NOTHING, resources: [{ collection: kind.collection, resource, position }] }
}

/** Maximum number of findings per resource. Each costs a position lookup, a log line and a line in the status. */
const MAX_FINDINGS = 50

function describeSome(findings: readonly FindingToDescribe[]): readonly Finding[] {
  const described = findings.slice(0, MAX_FINDINGS).map((describe) => describe())
  const more = findings.length - described.length
  return more === 0 ? described : [...described, at([], `has ${more} problems more`)]
}

function decodeBody(
  value: PlainMap,
  kind: Kind,
  isBounded: boolean,
): Result<DecodedFields, FindingToDescribe[]> {
  const { schema, strictness } = kind
  const secret = kind.kind === 'Secret'
  const fields = { schema, strictness, secret, isBounded }
  return kind.body === 'spec'
    ? decodeFields({ ...fields, value: value['spec'], path: ['spec'] })
    : decodeFields({ ...fields, value, path: [] })
}

const TOP_FIELDS = ['apiVersion', 'kind', 'metadata', 'spec', 'status']

const unknownAtTop = (value: PlainMap): FindingToDescribe[] =>
  Object.keys(value)
    .filter((key) => !TOP_FIELDS.includes(key))
    .map((key) => () => {
      const meant = similarWord(key, TOP_FIELDS)
      const hint =
        meant === undefined ? 'fields of a resource stand below spec' : `did you mean ${meant}?`
      return { path: [key], part: 'key', message: `unknown field, ${hint}` }
    })

/**
 * Converts a finding into a problem. path locates the resource in its document (an item of a List); the finding's path
 * is relative to that.
 */
function problemOf(finding: Finding, path: FieldPath, value: PlainMap, context: Context): Problem {
  const whole = [...path, ...finding.path]
  const field = formatPath(whole)
  return {
    source: context.positionOf(whole, finding.part),
    message: field === '' ? finding.message : `${field}: ${finding.message}`,
    ...identityOf(value),
  }
}

/** Returns the identity of the resource, as far as it can be read. */
function identityOf(value: PlainMap): Partial<Problem> {
  const text = (key: string, from: unknown) => {
    const found = valueAt(from, [key])
    return typeof found === 'string' && found !== '' ? { [key]: found } : {}
  }
  const metadata = value['metadata']
  return {
    ...text('apiVersion', value),
    ...text('kind', value),
    ...text('namespace', metadata),
    ...text('name', metadata),
  }
}

// Parses a YAML (or JSON) document into plain values with positions.

/** Parses a document. Never throws: invalid YAML, or YAML built to exhaust resources, yields faults. */
export function parseYaml(document: DocumentText): ParsedYaml {
  const usual = readUsual(document)
  return usual === undefined || findUnfit(usual.value, []) !== undefined
    ? parseNodes(document)
    : { ok: true, value: parsedUsual(usual, document) }
}

/** A usual document, whose nodes are parsed when the position of a field is asked for, as for a message about it. */
function parsedUsual(usual: UsualDocument, document: DocumentText): ParsedDocument {
  let parsed: ParsedYaml | undefined
  const nodes = (): ParsedDocument | undefined => {
    parsed ??= parseNodes(document)
    return parsed.ok ? parsed.value : undefined
  }
  return {
    value: usual.value,
    positionOf: (path, part) =>
      path.length === 0 ? usual.start : (nodes()?.positionOf(path, part) ?? usual.start),
    entryLines: (path) => usual.entryLines(path) ?? nodes()?.entryLines(path) ?? [],
  }
}

// Finds the kind that decodes a document by its apiVersion and kind, or says why there is none.

/** The kind of a document, or why there is none. */
export type FoundKind =
  | { readonly type: 'kind'; readonly kind: Kind }
  /** The document is most likely meant for Gatehouse. */
  | { readonly type: 'problem'; readonly field: 'apiVersion' | 'kind'; readonly message: string }
  /** Gatehouse does not read this kind and ignores it. */
  | { readonly type: 'note'; readonly message: string }

/** Finds the kind of a document. */
function findKind(kinds: readonly Kind[], apiVersion: string, kind: string): FoundKind {
  const slash = apiVersion.lastIndexOf('/')
  const group = slash < 0 ? '' : apiVersion.slice(0, slash)
  const version = apiVersion.slice(slash + 1)
  const found = kinds.find((each) => each.group === group && each.kind === kind)
  if (found === undefined) return unknownKind(kinds, group, kind)
  if (found.versions.includes(version)) return { type: 'kind', kind: found }
  return problem(
    'apiVersion',
    `${JSON.stringify(apiVersion)} is not a version of ${kind} that is read here, expected ${expectedVersion(found)}`,
  )
}

const expectedVersion = ({ group, versions }: Kind): string =>
  group === '' ? (versions[0] ?? '') : `${group}/${versions[0]}`

function unknownKind(kinds: readonly Kind[], group: string, kind: string): FoundKind {
  const elsewhere = kinds.find((each) => each.kind === kind)
  if (elsewhere !== undefined && (elsewhere.strictness === 'own' || isNear(group, elsewhere.group)))
    return problem(
      'apiVersion',
      `${JSON.stringify(group)} is not the API group of ${kind}, expected ${expectedVersion(elsewhere)}${groupHint(elsewhere)}`,
    )
  const siblings = kinds.filter((each) => each.group === group)
  const isOwn = siblings.some(({ strictness }) => strictness === 'own')
  const names = siblings.map((each) => each.kind)
  const meant = OTHER_GATEWAY_API_KINDS.includes(kind) ? undefined : similarWord(kind, names)
  if (meant !== undefined)
    return problem('kind', `${JSON.stringify(kind)} is not a kind; did you mean ${meant}?`)
  if (isOwn) return problem('kind', `${JSON.stringify(kind)} is not one of ${names.join(', ')}`)
  return { type: 'note', message: `${kind} is not a kind that Gatehouse reads: left alone` }
}

const groupHint = ({ strictness }: Kind): string =>
  strictness === 'own' ? ' (the API group is a setting: --api-group)' : ''

const isNear = (group: string, expected: string): boolean =>
  group !== expected && similarWord(group, [expected]) !== undefined

const problem = (field: 'apiVersion' | 'kind', message: string): FoundKind => ({
  type: 'problem',
  field,
  message,
})
