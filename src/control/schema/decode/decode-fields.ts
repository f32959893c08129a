// Decodes a plain value by a schema, or returns findings: which field is wrong and why.

import type { z } from 'zod'
import { err, ok, type Result } from '../../../kit/result.js'
import { similarWord } from '../../../kit/similar.js'
import type { FieldPath } from '../kinds/field-path.js'
import type { Kind } from '../kinds/kinds.js'
import { unimplementedFields } from '../kinds/unimplemented.js'
import { describeIssue } from './describe-issue.js'
import { isMap, type PlainMap, valueAt } from './plain-map.js'

/** A problem with a field's key or value. */
export interface Finding {
  readonly path: FieldPath
  readonly part: 'key' | 'value'
  readonly message: string
}

/** A value and the schema to decode it by. */
export interface Fields {
  readonly schema: z.core.$ZodType
  readonly value: unknown
  /** Path of the value in its document. */
  readonly path: FieldPath
  readonly strictness: Kind['strictness']
  /** Whether values are secret and must not be quoted. */
  readonly secret: boolean
  /** Whether the value is decoded on the event loop, where it may have only so many values. */
  readonly isBounded: boolean
}

/** A decoded value. */
export interface DecodedFields {
  readonly value: unknown
  /** Fields that the API defines and Gatehouse does not implement. */
  readonly unsupported: readonly FieldPath[]
}

/** A finding that is not described yet: a value may have thousands, of which few are shown. */
export type FindingToDescribe = () => Finding

/** Unknown fields of a bounded value: each is compared with all known ones. */
const MOST_UNKNOWN = 1_000

/** Decodes a value. */
export function decodeFields(fields: Fields): Result<DecodedFields, FindingToDescribe[]> {
  const { schema, strictness, path, isBounded } = fields
  const refuse = (message: string) => err([(): Finding => ({ path, part: 'value', message })])
  const isLenient = strictness === 'lenient'
  const excess = isBounded ? excessOf(fields.value, isLenient ? schema : undefined) : undefined
  if (excess !== undefined) return refuse(excess)
  const value = isLenient ? readPart(schema, fields.value) : fields.value
  const unknown = isLenient ? [] : unknownFields(schema, value, path)
  if (isBounded && unknown.length > MOST_UNKNOWN)
    return refuse(`has more than ${MOST_UNKNOWN} unknown fields`)
  const misspelt = unknown.filter((field) => isError(field, strictness))
  const parsed = (schema as z.ZodType).safeParse(value)
  const findings = [
    ...misspelt.map((field) => () => describeUnknown(field)),
    ...(parsed.error?.issues ?? []).map((issue) => () => describe(issue, value, fields)),
  ]
  if (!parsed.success || findings.length > 0) return err(findings)
  return ok({ value: parsed.data, unsupported: unknown.map((field) => field.path) })
}

function describe(issue: z.core.$ZodIssue, root: unknown, fields: Fields): Finding {
  const value = valueAt(root, issue.path)
  const path = [...fields.path, ...issue.path]
  const secret = fields.secret || mayBeSecret(path)
  return {
    path,
    part: issue.code === 'invalid_key' ? 'key' : 'value',
    message: describeIssue({ issue, value, secret }),
  }
}

/** Whether the field may hold a secret (messages end up in logs): values of headers and parameters, expressions, key sets. */
const mayBeSecret = (path: FieldPath): boolean =>
  (path.some((key) => SECRET_FIELDS.has(String(key))) && !SHOWN_PARTS.has(String(path.at(-1)))) ||
  (path.includes('rateLimit') && path.at(-1) === 'key')

/** Whole, as whoever writes a list of headers as a map, or a header as one text, has the values elsewhere. */
const SECRET_FIELDS = new Set([
  'headers',
  'queryParams',
  'set',
  'add',
  'matchExpressions',
  'when',
  'inline',
])
/** The parts of a header or parameter that are no secret. */
const SHOWN_PARTS = new Set(['name', 'type'])

/**
 * Whether an unknown field is an error. In the Gateway API, whose newer versions may add fields, only misspellings are.
 */
const isError = (field: UnknownField, strictness: Kind['strictness']): boolean =>
  strictness === 'own' || (!field.unimplemented && meantField(field) !== undefined)

const meantField = ({ path, known }: UnknownField): string | undefined =>
  similarWord(String(path.at(-1)), known)

function describeUnknown(field: UnknownField): Finding {
  const meant = meantField(field)
  const expected =
    meant === undefined
      ? `expected ${field.known.length === 1 ? '' : 'one of '}${field.known.join(', ')}`
      : `did you mean ${meant}?`
  return { path: field.path, part: 'key', message: `unknown field, ${expected}` }
}

// Finds the fields of a value that its schema does not have.

/** A field that the schema does not have. */
interface UnknownField {
  readonly path: FieldPath
  /** The fields that its object may have. */
  readonly known: readonly string[]
  /** Whether the API defines the field and Gatehouse does not implement it. */
  readonly unimplemented: boolean
}

/** Returns the unknown fields. Values whose shape does not match are skipped: the schema itself rejects them. */
function unknownFields(
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

// Counts the values of an object before its schema sees them: all of them are decoded in one step of the event loop.

/** What an object may have at most: HTTPRoutes of 128 matches with 32 conditions each have about 17,000 values. */
const MOST_VALUES = 20_000
/** Keys in one map. A map of thousands is a hash table, and each key costs as much as ten values elsewhere. */
const MOST_KEYS = 2_000
const MOST_LEVELS = 100

/**
 * Returns why a value is too large to be decoded in one step, e.g. "has more than 20000 values"; undefined: it is not.
 * Stops counting there.
 * @param schema given: only the fields that it has are counted.
 */
function excessOf(value: unknown, schema?: z.core.$ZodType): string | undefined {
  const count: Count = { values: 0, excess: undefined }
  countValues(value, schema, 0, count)
  return count.excess
}

interface Count {
  values: number
  /** Ends the counting. */
  excess: string | undefined
}

function countValues(
  value: unknown,
  schema: z.core.$ZodType | undefined,
  level: number,
  count: Count,
): void {
  count.values += 1
  if (count.values > MOST_VALUES) count.excess = `has more than ${MOST_VALUES} values`
  if (level > MOST_LEVELS) count.excess = `is nested more than ${MOST_LEVELS} levels deep`
  if (count.excess !== undefined || typeof value !== 'object' || value === null) return
  const inner = schema && unwrapped(schema)
  if (Array.isArray(value)) {
    const element = inner?.type === 'array' ? inner.element : undefined
    for (const each of value as readonly unknown[]) {
      countValues(each, element, level + 1, count)
      if (count.excess !== undefined) return
    }
    return
  }
  const map = value as PlainMap
  const shape = inner?.type === 'object' ? inner.shape : undefined
  const keys = shape === undefined ? Object.keys(map) : readKeys(map, shape)
  if (keys.length > MOST_KEYS) count.excess = `has a map with more than ${MOST_KEYS} keys`
  for (const key of keys) {
    if (count.excess !== undefined) return
    countValues(map[key], shape?.[key], level + 1, count)
  }
}

/**
 * Returns the part of a value that its schema has, without the nulls that tools write for fields that they leave unset.
 */
function readPart(schema: z.core.$ZodType, value: unknown): unknown {
  const inner = unwrapped(schema)
  if (inner.type === 'array' && Array.isArray(value))
    return value.filter((entry) => entry !== null).map((entry) => readPart(inner.element, entry))
  if (!isMap(value)) return value
  if (inner.type === 'record')
    return Object.values(value).includes(null)
      ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
      : value
  if (inner.type !== 'object') return value
  const keys = readKeys(value, inner.shape).filter((key) => value[key] !== null)
  return Object.fromEntries(
    keys.map((key) => {
      const field = inner.shape[key]
      return [key, field === undefined ? value[key] : readPart(field, value[key])]
    }),
  )
}

const readKeys = (map: PlainMap, shape: z.core.$ZodShape): readonly string[] =>
  Object.keys(shape).filter((key) => Object.hasOwn(map, key))

/** Returns the definition of a schema without what surrounds it: defaults, transformations. */
function unwrapped(schema: z.core.$ZodType): z.core.$ZodTypes['_zod']['def'] {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
      return unwrapped(def.innerType)
    case 'pipe':
      return unwrapped(def.in)
    default:
      return def
  }
}
