// The gRPC service envoy.service.auth.v3.Authorization, over raw bytes: decoding and encoding are part of the check, so
// their failures are answered too.

import { Authorization } from '../grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import type { Peer } from '../grpc/peer.js'
import type { GrpcService, UnaryMethod } from '../grpc/service.js'
import { GrpcError, Status } from '../grpc/status.js'
import { createCheck } from './check.js'
import type { CheckOptions } from './check-context.js'

/** What the Authorization service is created with. */
export interface CheckServiceOptions extends CheckOptions {
  /** Returns the only Gateway that the peer serves; undefined: a peer with other rights. Absent: all have these. */
  readonly gatewayOf?: ((peer: Peer) => string | undefined) | undefined
}

/** Until the table is filled, calls fail with UNAVAILABLE, and Envoy asks another replica. */
export function createCheckService(options: CheckServiceOptions): GrpcService {
  const check = createCheck(options)
  const handle: UnaryMethod['handle'] = (bytes, call) => {
    if (options.table().isUnfilled === true)
      throw new GrpcError(Status.UNAVAILABLE, 'no resources were read yet')
    return check(bytes, call, options.gatewayOf?.(call.peer))
  }
  return { name: Authorization.typeName, methods: { Check: { type: 'unary', handle } } }
}
