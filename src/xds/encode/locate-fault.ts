// JSON that its message's decoder refused → the path of the fault and what is wrong there.

import type { DescField, DescMessage, JsonValue } from '@bufbuild/protobuf'
import { fromJson } from '@bufbuild/protobuf'
import { errorText } from '../../errors.js'
import { registry } from '../../grpc/protos.js'
import { isJsonObject, type Json, type JsonObject } from '../../ir/json.js'
import { TYPE_URL_PREFIX } from './type-urls.js'

export interface FieldFault {
  /** e.g. 'filter_chains[0].filters[0].typed_config.stat_prefx'; "" for the message itself. */
  readonly path: string
  readonly reason: string
}

/** Follows the first member that is refused by itself, down to one whose members are all fine. */
export function locateFault(schema: DescMessage, json: Json, path = ''): FieldFault {
  for (const [at, memberSchema, member] of members(schema, json, path)) {
    if (refusal(memberSchema, member) !== undefined) return locateFault(memberSchema, member, at)
  }
  return ownFault(schema, json, path)
}

function refusal(schema: DescMessage, json: Json): string | undefined {
  try {
    fromJson(schema, json as JsonValue, { registry })
    return undefined
  } catch (error) {
    return errorText(error)
  }
}

function ownFault(schema: DescMessage, json: Json, path: string): FieldFault {
  if (isAny(schema) && isJsonObject(json)) {
    const type = json['@type']
    if (typeof type !== 'string') return { path, reason: 'an Any needs "@type"' }
    if (typeOfAny(json) === undefined) return { path, reason: `unknown type "${type}"` }
  }
  if (isJsonObject(json) && !isWellKnown(schema)) {
    const unknown = Object.keys(json).find((key) => fieldOf(schema, key) === undefined)
    if (unknown !== undefined) {
      return { path: join(path, unknown), reason: `${schema.typeName} has no such field` }
    }
    const bad = Object.keys(json).find(
      (key) => refusal(schema, { [key]: json[key] ?? null }) !== undefined,
    )
    if (bad !== undefined) {
      return { path: join(path, bad), reason: refusal(schema, { [bad]: json[bad] ?? null }) ?? '' }
    }
  }
  return { path, reason: refusal(schema, json) ?? 'refused' }
}

type Member = readonly [path: string, schema: DescMessage, json: Json]

function members(schema: DescMessage, json: Json, path: string): Member[] {
  if (!isJsonObject(json)) return []
  if (isAny(schema)) {
    const inner = typeOfAny(json)
    if (inner === undefined || isWellKnown(inner)) return []
    return [[path, inner, withoutType(json)]]
  }
  if (isWellKnown(schema)) return []
  return Object.entries(json).flatMap(([key, value]) => {
    const field = fieldOf(schema, key)
    return field === undefined ? [] : fieldMembers(field, value, join(path, key))
  })
}

function fieldMembers(field: DescField, value: Json, path: string): Member[] {
  if (field.fieldKind === 'message') return value === null ? [] : [[path, field.message, value]]
  if (field.fieldKind === 'list' && field.listKind === 'message' && Array.isArray(value)) {
    const { message } = field
    return (value as readonly Json[]).map((item, i) => [`${path}[${i}]`, message, item])
  }
  if (field.fieldKind === 'map' && field.mapKind === 'message' && isJsonObject(value)) {
    const { message } = field
    return Object.entries(value).map(([key, item]) => [`${path}["${key}"]`, message, item])
  }
  return []
}

const fieldOf = (schema: DescMessage, key: string): DescField | undefined =>
  schema.fields.find((field) => field.name === key)

function typeOfAny(json: JsonObject): DescMessage | undefined {
  const type = json['@type']
  return typeof type === 'string' && type.startsWith(TYPE_URL_PREFIX)
    ? registry.getMessage(type.slice(TYPE_URL_PREFIX.length))
    : undefined
}

const withoutType = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).filter(([key]) => key !== '@type'))

const isAny = (schema: DescMessage): boolean => schema.typeName === 'google.protobuf.Any'

const isWellKnown = (schema: DescMessage): boolean => schema.typeName.startsWith('google.protobuf.')

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)
