// Encodes pushes as responses. Keeps the bytes of resources per chunk, as hundreds of streams get the same thousands.

import { create, toBinary } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import { type Chunk, namedChunks } from '../../kit/incremental/chunked-list.js'
import { memo } from '../../kit/incremental/memo.js'
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
  ResourceSchema,
} from '../../wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import { encodedStringOf, fieldPrefixOf } from '../encode/elements.js'
import type { EncodedResource } from '../encode/encode.js'
import { joinShort, lengthOf } from '../encode/parts.js'
import type { Protocol, Push } from './type-stream.js'

/** Encodes an envoy.service.discovery.v3.DiscoveryResponse or DeltaDiscoveryResponse, in parts that streams share. */
export type EncodeResponse = (push: Push) => readonly Buffer[]

/** Encoders of both protocols. */
export interface ResponseEncoders {
  readonly of: Readonly<Record<Protocol, EncodeResponse>>
  /** Encodes in advance the parts of incremental responses with these resources. */
  readonly prepare: (chunk: Chunk<EncodedResource>) => void
}

const PREFIX = {
  value: fieldPrefixOf(AnySchema, 'value'),
  world: fieldPrefixOf(DiscoveryResponseSchema, 'resources'),
  change: fieldPrefixOf(DeltaDiscoveryResponseSchema, 'resources'),
  resource: fieldPrefixOf(ResourceSchema, 'resource'),
}

/** A message in parts. */
type Bytes = readonly Uint8Array[]

/** Encoded by hand, as there are tens of thousands at the start: a message takes several times as long. */
const STRING = {
  typeUrl: encodedStringOf(AnySchema, 'type_url'),
  version: encodedStringOf(ResourceSchema, 'version'),
  name: encodedStringOf(ResourceSchema, 'name'),
}

function anyParts({ typeUrl, parts }: EncodedResource): Bytes {
  const own = STRING.typeUrl(typeUrl)
  const length = lengthOf(parts)
  return length === 0 ? own : [...own, PREFIX.value(length), ...parts]
}

function changeParts(resource: EncodedResource): Bytes {
  const { name, version } = resource
  const inner = anyParts(resource)
  const own = [...STRING.version(version), ...STRING.name(name)]
  return [...own, PREFIX.resource(lengthOf(inner)), ...inner]
}

/** Creates the encoders of one server. */
export function createResponseEncoders(): ResponseEncoders {
  const elements = (
    prefix: (length: number) => Uint8Array,
    partsOf: (resource: EncodedResource) => Bytes,
  ) =>
    memo((chunk: Chunk<EncodedResource>) =>
      joinShort(
        chunk.flatMap((resource) => {
          const parts = partsOf(resource)
          return [prefix(lengthOf(parts)), ...parts]
        }),
      ),
    )
  const inWorld = elements(PREFIX.world, anyParts)
  const inChanges = elements(PREFIX.change, changeParts)
  const of: ResponseEncoders['of'] = {
    'state-of-the-world': ({ typeUrl, version, nonce, resources }) => {
      const own = create(DiscoveryResponseSchema, { typeUrl, versionInfo: version, nonce })
      return [
        Buffer.from(toBinary(DiscoveryResponseSchema, own)),
        ...namedChunks(resources).flatMap(inWorld),
      ]
    },
    incremental: ({ typeUrl, version, nonce, resources, removed }) => {
      const own = create(DeltaDiscoveryResponseSchema, {
        typeUrl,
        systemVersionInfo: version,
        nonce,
        removedResources: [...removed],
      })
      return [
        Buffer.from(toBinary(DeltaDiscoveryResponseSchema, own)),
        ...namedChunks(resources).flatMap(inChanges),
      ]
    },
  }
  return { of, prepare: (chunk) => void inChanges(chunk) }
}
