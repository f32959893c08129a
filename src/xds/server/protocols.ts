// The two forms of the protocol, state of the world and incremental: their messages to and from ours.

import { create } from '@bufbuild/protobuf'
import type {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
} from '../../grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import type { StreamRequest } from './ads-stream.js'
import { subscribeToChanges, subscribeToWorld } from './discovery-requests.js'
import type { Protocol, Push } from './type-stream.js'

export type AnyRequest = DiscoveryRequest | DeltaDiscoveryRequest

export interface Dialect<Request, Response> {
  readonly protocol: Protocol
  readonly read: (request: Request) => StreamRequest
  readonly write: (push: Push) => Response
}

export const world: Dialect<DiscoveryRequest, DiscoveryResponse> = {
  protocol: 'state-of-the-world',
  read: subscribeToWorld,
  write: ({ typeUrl, version, nonce, resources }) =>
    create(DiscoveryResponseSchema, {
      typeUrl,
      versionInfo: version,
      nonce,
      resources: resources.map(({ any }) => any),
    }),
}

export const incremental: Dialect<DeltaDiscoveryRequest, DeltaDiscoveryResponse> = {
  protocol: 'incremental',
  read: subscribeToChanges,
  write: ({ typeUrl, version, nonce, resources, removed }) =>
    create(DeltaDiscoveryResponseSchema, {
      typeUrl,
      systemVersionInfo: version,
      nonce,
      removedResources: [...removed],
      resources: resources.map(({ name, version, any }) => ({ name, version, resource: any })),
    }),
}
