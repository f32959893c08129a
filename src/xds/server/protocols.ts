// The two forms of the protocol, state of the world and incremental: their requests as ours.

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

export type AnyRequest = DiscoveryRequest | DeltaDiscoveryRequest

export interface Dialect<Request> {
  readonly protocol: Protocol
  /** Throws for bytes that are no request. */
  readonly decode: (bytes: Uint8Array) => Request
  readonly read: (request: Request) => StreamRequest
}

export const world: Dialect<DiscoveryRequest> = {
  protocol: 'state-of-the-world',
  decode: (bytes) => fromBinary(DiscoveryRequestSchema, bytes),
  read: subscribeToWorld,
}

export const incremental: Dialect<DeltaDiscoveryRequest> = {
  protocol: 'incremental',
  decode: (bytes) => fromBinary(DeltaDiscoveryRequestSchema, bytes),
  read: subscribeToChanges,
}
