// The two xDS protocols, state of the world and incremental: decodes their requests into the common form.

import { fromBinary } from '@bufbuild/protobuf'
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
} from '../../grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import type { StreamRequest } from './ads-stream.js'
import { subscribeToChanges, subscribeToWorld } from './discovery-requests.js'
import type { Protocol } from './type-stream.js'

/** A discovery request of either protocol. */
export type AnyRequest = DiscoveryRequest | DeltaDiscoveryRequest

/** A protocol: how its requests are decoded and read. */
export interface Dialect<Request> {
  readonly protocol: Protocol
  /** Decodes a request; throws if the bytes are not one. */
  readonly decode: (bytes: Uint8Array) => Request
  readonly read: (request: Request) => StreamRequest
}

/** The state of the world: each response has all resources of its type. */
export const world: Dialect<DiscoveryRequest> = {
  protocol: 'state-of-the-world',
  decode: (bytes) => fromBinary(DiscoveryRequestSchema, bytes),
  read: subscribeToWorld,
}

/** The incremental protocol: each response has what has changed. */
export const incremental: Dialect<DeltaDiscoveryRequest> = {
  protocol: 'incremental',
  decode: (bytes) => fromBinary(DeltaDiscoveryRequestSchema, bytes),
  read: subscribeToChanges,
}
