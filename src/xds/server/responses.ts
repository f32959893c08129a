// Encodes pushes as responses. Keeps the bytes of resources per chunk, as hundreds of streams get the same thousands.

import { create, toBinary } from '@bufbuild/protobuf'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
  ResourceSchema,
} from '../../grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import { type Chunk, namedChunks } from '../../incremental/chunked-list.js'
import { memo } from '../../incremental/memo.js'
import { elementsOf } from '../encode/elements.js'
import type { EncodedResource } from '../encode/encode.js'
import type { Protocol, Push } from './type-stream.js'

/** Encodes an envoy.service.discovery.v3.DiscoveryResponse or DeltaDiscoveryResponse, in parts that streams share. */
export type EncodeResponse = (push: Push) => readonly Buffer[]

export interface ResponseEncoders {
  readonly of: Readonly<Record<Protocol, EncodeResponse>>
  /** Encodes in advance the parts of incremental responses with these resources. */
  readonly prepare: (chunk: Chunk<EncodedResource>) => void
}

/** Creates the encoders of one server. */
export function createResponseEncoders(): ResponseEncoders {
  const elements = (
    of: (messages: readonly Uint8Array[]) => Buffer,
    encode: (resource: EncodedResource) => Uint8Array,
  ) => memo((chunk: Chunk<EncodedResource>) => of(chunk.map(encode)))
  const inWorld = elements(elementsOf(DiscoveryResponseSchema, 'resources'), ({ any }) =>
    toBinary(AnySchema, any),
  )
  const inChanges = elements(
    elementsOf(DeltaDiscoveryResponseSchema, 'resources'),
    ({ name, version, any }) =>
      toBinary(ResourceSchema, create(ResourceSchema, { name, version, resource: any })),
  )
  const of: ResponseEncoders['of'] = {
    'state-of-the-world': ({ typeUrl, version, nonce, resources }) => {
      const own = create(DiscoveryResponseSchema, { typeUrl, versionInfo: version, nonce })
      return [
        Buffer.from(toBinary(DiscoveryResponseSchema, own)),
        ...namedChunks(resources).map(inWorld),
      ]
    },
    incremental: ({ typeUrl, version, nonce, resources, removed }) => {
      const own = create(DeltaDiscoveryResponseSchema, {
        ...{ typeUrl, systemVersionInfo: version, nonce },
        removedResources: [...removed],
      })
      return [
        Buffer.from(toBinary(DeltaDiscoveryResponseSchema, own)),
        ...namedChunks(resources).map(inChanges),
      ]
    },
  }
  return { of, prepare: (chunk) => void inChanges(chunk) }
}
