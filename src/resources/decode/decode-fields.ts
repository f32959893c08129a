// Decodes a plain value by a schema, or returns findings: which field is wrong and why.

import type { z } from 'zod'
import { err, ok, type Result } from '../../result.js'
import { similarWord } from '../../similar.js'
import type { FieldPath } from '../kinds/field-path.js'
import type { Kind } from '../kinds/kinds.js'
import { describeIssue } from './describe-issue.js'
import { valueAt } from './plain-map.js'
import { type UnknownField, unknownFields } from './unknown-fields.js'
import { excessOf, readPart } from './value-limits.js'

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
  ...['headers', 'queryParams', 'set', 'add'],
  ...['matchExpressions', 'when', 'inline'],
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
