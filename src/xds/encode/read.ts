// Decodes encoded resources, and converts messages to the JSON that Envoy reads and people see.

import { create, type DescMessage, fromBinary, type MessageShape, toJson } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import type { Json, JsonObject } from '../../model/json.js'
import { registry } from '../../wire/grpc/protos.js'
import type { Encoded, EncodedResource } from './encode.js'
import { joinAll } from './parts.js'

/** Decodes a message as Envoy does. schema is that of its type. */
export const decode = <Desc extends DescMessage>(
  schema: Desc,
  { parts }: Encoded,
): MessageShape<Desc> => fromBinary(schema, joinAll(parts))

/** Returns proto3 JSON with Envoy's field names. The identifying members are first: "@type", then "name". */
export const messageJson = <Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
): JsonObject =>
  nameFirst(toJson(schema, message, { registry, useProtoFieldName: true })) as JsonObject

/** Returns the JSON of a resource, with its "@type". */
export const resourceJson = ({ typeUrl, parts }: EncodedResource): JsonObject =>
  messageJson(AnySchema, create(AnySchema, { typeUrl, value: joinAll(parts) }))

function nameFirst(json: Json): Json {
  if (Array.isArray(json)) return (json as readonly Json[]).map(nameFirst)
  if (typeof json !== 'object' || json === null) return json
  const members = Object.entries(json).map(([key, value]) => [key, nameFirst(value)] as const)
  return Object.fromEntries(members.sort(([a], [b]) => rank(a) - rank(b)))
}

const FIRST = ['@type', 'name']

function rank(member: string): number {
  const found = FIRST.indexOf(member)
  return found < 0 ? FIRST.length : found
}
