// Encodes Envoy messages into the bytes sent, with a version derived from the content. The same fields give the same
// bytes in every process if maps are filled in a fixed order, as protobuf-es writes entries in insertion order. A
// message is dropped once encoded, since it takes several times as much memory; read.ts decodes it again.

import { hash } from 'node:crypto'
import { type DescMessage, type MessageShape, toBinary } from '@bufbuild/protobuf'
import { errorText, GatehouseError } from '../../kit/errors.js'
import {
  type Cluster,
  ClusterSchema,
} from '../../wire/grpc/generated/envoy/config/cluster/v3/cluster_pb.js'
import {
  type Secret,
  SecretSchema,
} from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import { TYPE_URL_PREFIX } from './type-urls.js'

/** The bytes of a message, and their version. */
export interface Encoded {
  /** Joined only where they are sent or read: a long message shares its parts with the one before a change. */
  readonly parts: readonly Uint8Array[]
  /** Hash of the content, so equal content has the same version in every process. */
  readonly version: string
}

/** An encoded resource with its name and type. */
export interface EncodedResource extends Encoded {
  readonly typeUrl: string
  readonly name: string
}

/** A bug in Gatehouse: a message that cannot be sent, as it lacks a name or a field's value does not fit its type. */
export class EncodeError extends GatehouseError {
  readonly code = 'invalid_resource'

  override readonly name = 'EncodeError'
}

/** Encodes a message; label names it in the error. @throws {EncodeError} */
export function encode<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  label: string,
): Encoded {
  const bytes = encodedBytes(schema, message, label)
  return { parts: [bytes], version: hashOf(bytes) }
}

/** Like encode(), for a part of a message, which needs no version. */
export function encodedBytes<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  label: string,
): Uint8Array {
  try {
    return toBinary(schema, message)
  } catch (error) {
    throw new EncodeError(`${schema.name} ${JSON.stringify(label)}: ${errorText(error)}`)
  }
}

/** Returns 132 bits of SHA-256. */
export const hashOf = (content: Uint8Array | string): string =>
  hash('sha256', content, 'base64url').slice(0, 22)

/** Names what was encoded as a resource. @throws {EncodeError} without a name: Envoy rejects it and its whole response. */
export function resourceOf(
  schema: DescMessage,
  name: string,
  { parts, version }: Encoded,
): EncodedResource {
  if (name === '') throw new EncodeError(`${schema.name} "": a resource needs a name`)
  return { typeUrl: TYPE_URL_PREFIX + schema.typeName, name, version, parts }
}

/** Encodes a Cluster. */
export const encodeCluster = (cluster: Cluster): EncodedResource =>
  resourceOf(ClusterSchema, cluster.name, encode(ClusterSchema, cluster, cluster.name))

/** Encodes a Secret. */
export const encodeSecret = (secret: Secret): EncodedResource =>
  resourceOf(SecretSchema, secret.name, encode(SecretSchema, secret, secret.name))
