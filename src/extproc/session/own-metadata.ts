// Reads what ext_authz has written into Envoy's metadata: the claims of a verified token, a request for lists, and a
// session.

import { fromBinary, type JsonObject } from '@bufbuild/protobuf'
import { type LazyValue, lazyValue } from '../../extauthz/cel/attributes.js'
import {
  CLAIMS_KEY,
  CLAIMS_NAMESPACE,
  EXACT_CLAIMS_KEY,
  LIST_REQUEST_KEY,
  SESSION_KEY,
} from '../../model/names.js'
import { MetadataSchema } from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'

/** metadata: an encoded Metadata. @throws {Error} when it cannot be decoded. */
export function claimsIn(metadata: Buffer): LazyValue | undefined {
  const { [CLAIMS_KEY]: claims, [EXACT_CLAIMS_KEY]: exact } = ownPart(metadata)
  if (claims === undefined) return undefined
  return lazyValue(claims, typeof exact === 'string' ? exact : undefined)
}

/** Returns a text of listRequestText(). @throws as claimsIn(). */
export function listRequestIn(metadata: Buffer): string | undefined {
  const { [LIST_REQUEST_KEY]: text } = ownPart(metadata)
  return typeof text === 'string' ? text : undefined
}

/** Returns the sealed session that the client has named. @throws as claimsIn(). */
export function sessionIn(metadata: Buffer): string | undefined {
  const { [SESSION_KEY]: text } = ownPart(metadata)
  return typeof text === 'string' ? text : undefined
}

const ownPart = (metadata: Buffer): JsonObject =>
  metadata.length === 0
    ? NOTHING
    : (fromBinary(MetadataSchema, metadata).filterMetadata[CLAIMS_NAMESPACE] ?? NOTHING)

const NOTHING: JsonObject = {}
