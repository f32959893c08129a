// One xDS resource: proto3 JSON (snake_case, '@type' in Any) → the bytes that Envoy gets, strictly.

import { hash } from 'node:crypto'
import type { DescMessage, JsonValue } from '@bufbuild/protobuf'
import { create, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { GatehouseError } from '../../errors.js'
import { registry } from '../../grpc/protos.js'
import type { Chunk } from '../../incremental/chunked-list.js'
import { isJsonObject, type Json, type JsonObject } from '../../ir/json.js'
import { elementsOf, partChunks, type PartsField, partsField } from './encode-parts.js'
import { locateFault } from './locate-fault.js'
import { nameField, shortType, TYPE_URL_PREFIX } from './type-urls.js'

export interface EncodedResource {
  readonly typeUrl: string
  readonly name: string
  /** Hash of the content: the same content has the same version, in every process. */
  readonly version: string
  readonly any: Any
}

/** A resource that is not what Envoy's API says: unknown or misspelt field, unknown @type, wrong value. */
export class EncodeError extends GatehouseError {
  readonly code = 'invalid_resource'

  override readonly name = 'EncodeError'
  constructor(
    /** e.g. 'Listener "default/gw/8080"' */
    readonly resource: string,
    /** e.g. 'filter_chains[0].filters[0].typed_config.stat_prefx' */
    readonly path: string,
    readonly reason: string,
  ) {
    super(`${resource}: ${path === '' ? '' : `${path}: `}${reason}`)
  }
}

/** Same object, same result: JSON resources are never mutated. */
const encoded = new WeakMap<JsonObject, EncodedResource>()

/** json: with '@type', unless typeUrl says what it is. @throws {EncodeError} */
export function encodeResource(json: JsonObject, typeUrl?: string): EncodedResource {
  const known = encoded.get(json)
  if (known !== undefined && (typeUrl === undefined || known.typeUrl === typeUrl)) return known
  const { '@type': type, ...body } = json
  const resource = encodeBody(typeUrl ?? (typeof type === 'string' ? type : ''), body)
  encoded.set(json, resource)
  return resource
}

/** Any message of proto/, without a name: a bootstrap, for instance. @throws {EncodeError} */
export function encodeMessage(typeUrl: string, json: JsonObject): Uint8Array {
  const schema = schemaOf(typeUrl)
  return encodeStrictly(schema, json, { label: shortType(typeUrl), path: '' })
}

function encodeBody(typeUrl: string, body: JsonObject): EncodedResource {
  const name = body[nameField(typeUrl)]
  const label = `${shortType(typeUrl)} ${JSON.stringify(name ?? '')}`
  const schema = schemaOf(typeUrl, label)
  if (typeof name !== 'string' || name === '') {
    throw new EncodeError(label, nameField(typeUrl), 'a resource needs a name')
  }
  const { bytes: value, digest } = encodeInParts(schema, body, { label, path: '' })
  return { typeUrl, name, version: digest.slice(0, 22), any: create(AnySchema, { typeUrl, value }) }
}

interface Encoded {
  readonly bytes: Uint8Array
  /** Hash of the content. */
  readonly digest: string
}

/** Where a message stands, for errors. */
interface Place {
  /** Of the resource. */
  readonly label: string
  /** Of the message within it; "": it is the resource. */
  readonly path: string
}

/** Of the messages that are parts of others, and of chunks of them as elements of their field. */
const encodedParts = new WeakMap<JsonObject, Encoded>()
const encodedChunks = new WeakMap<Chunk<JsonObject>, Encoded>()

/** The elements of a partsField() are encoded each by itself, and those that are the same objects not again. */
function encodeInParts(schema: DescMessage, json: JsonObject, place: Place): Encoded {
  const field = partsField(schema)
  const parts = field && json[field.name]
  if (field === undefined || !Array.isArray(parts) || !parts.every(isJsonObject)) {
    const bytes = encodeStrictly(schema, json, place)
    return { bytes, digest: digestOf(bytes) }
  }
  const own = Object.fromEntries(Object.entries(json).filter(([name]) => name !== field.name))
  const ownBytes = encodeStrictly(schema, own, place)
  let index = 0
  const encoded = partChunks(parts as readonly JsonObject[]).map((chunk) => {
    const start = index
    index += chunk.length
    return encodeChunk(field, chunk, { place, start })
  })
  return {
    bytes: Buffer.concat([ownBytes, ...encoded.map(({ bytes }) => bytes)]),
    digest: digestsOf([{ digest: digestOf(ownBytes) }, ...encoded]),
  }
}

/** place: of the message that they are parts of. start: index of the first. */
function encodeChunk(
  field: PartsField,
  chunk: Chunk<JsonObject>,
  { place, start }: { readonly place: Place; readonly start: number },
): Encoded {
  const known = encodedChunks.get(chunk)
  if (known !== undefined) return known
  const parts = chunk.map((part, index) => {
    const path = below(place.path, `${field.name}[${String(start + index)}]`)
    return encodePart(field.message, part, { ...place, path })
  })
  const bytes = elementsOf(
    field,
    parts.map((part) => part.bytes),
  )
  const fresh = { bytes, digest: digestsOf(parts) }
  encodedChunks.set(chunk, fresh)
  return fresh
}

function encodePart(schema: DescMessage, json: JsonObject, place: Place): Encoded {
  const known = encodedParts.get(json)
  if (known !== undefined) return known
  const fresh = encodeInParts(schema, json, place)
  encodedParts.set(json, fresh)
  return fresh
}

const digestsOf = (parts: readonly Pick<Encoded, 'digest'>[]): string =>
  digestOf(parts.map(({ digest }) => digest).join(' '))

const digestOf = (content: Uint8Array | string): string => hash('sha256', content, 'base64url')

function schemaOf(typeUrl: string, label = 'resource'): DescMessage {
  const schema = typeUrl.startsWith(TYPE_URL_PREFIX)
    ? registry.getMessage(typeUrl.slice(TYPE_URL_PREFIX.length))
    : undefined
  if (schema === undefined) throw new EncodeError(label, '@type', `unknown type "${typeUrl}"`)
  return schema
}

function encodeStrictly(schema: DescMessage, json: JsonObject, { label, path }: Place): Uint8Array {
  try {
    const value = toBinary(schema, fromJson(schema, sortKeys(json) as JsonValue, { registry }))
    const back = toJson(schema, fromBinary(schema, value), {
      registry,
      useProtoFieldName: true,
      alwaysEmitImplicit: true,
    })
    const lost = findLost(json, back, path)
    if (lost !== undefined) throw new EncodeError(label, lost, 'not carried over the wire')
    return value
  } catch (error) {
    if (error instanceof EncodeError) throw error
    const fault = locateFault(schema, json, path)
    throw new EncodeError(label, fault.path, fault.reason)
  }
}

/** Maps are written in the order of their keys: equal content, equal bytes. */
function sortKeys(json: Json): Json {
  if (Array.isArray(json)) return (json as readonly Json[]).map(sortKeys)
  if (typeof json !== 'object' || json === null) return json
  const entries = Object.entries(json).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, value]) => [key, sortKeys(value)]))
}

/** Path of the first key of sent that is not in received: null, camelCase and undefined end here. */
function findLost(sent: Json, received: Json | undefined, path: string): string | undefined {
  if (typeof sent !== 'object' || sent === null) return received === undefined ? path : undefined
  if (typeof received !== 'object' || received === null) return path
  const target = new Map(Object.entries<Json>(received))
  for (const [key, value] of Object.entries<Json>(sent)) {
    const at = Array.isArray(sent) ? `${path}[${key}]` : below(path, key)
    const lost = findLost(value, target.get(key), at)
    if (lost !== undefined) return lost
  }
  return undefined
}

const below = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)
