// The gRPC service envoy.service.auth.v3.Authorization, over raw bytes: decoding and encoding are part of the check, so
// their failures are answered too. An Envoy may let a request pass whose check ends with an error (failure_mode_allow), but
// never one that is denied: what can be answered is.

import { createLogLimit, type LogLimit } from '../kit/log-limit.js'
import { Authorization } from '../wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import { TooManyUnfinished } from '../wire/grpc/message-budget.js'
import type { Peer } from '../wire/grpc/peer.js'
import type { GrpcService, UnaryMethod } from '../wire/grpc/service.js'
import { GrpcError, Status } from '../wire/grpc/status.js'
import { createCheck } from './check.js'
import type { CheckOptions } from './check-context.js'
import { encodeDecision } from './check-response.js'
import { refuseUnchecked } from './decision.js'

/** What the Authorization service is created with. */
export interface CheckServiceOptions extends CheckOptions {
  /** Returns the only Gateway that the peer serves; undefined: a peer with other rights. Absent: all have these. */
  readonly gatewayOf?: ((peer: Peer) => string | undefined) | undefined
}

/**
 * Until the table is filled, calls fail with UNAVAILABLE, and Envoy asks another replica: without a table nobody knows
 * which routes are only audited, and must not be denied.
 */
export function createCheckService(options: CheckServiceOptions): GrpcService {
  const check = createCheck(options)
  const limit = createLogLimit(options.now)
  const handle: UnaryMethod['handle'] = (bytes, call) => {
    if (options.table().isUnfilled === true)
      throw new GrpcError(Status.UNAVAILABLE, 'no resources were read yet')
    return check(bytes, call, options.gatewayOf?.(call.peer))
  }
  const refuse = (error: unknown): Uint8Array | undefined => refusalOf(error, options, limit)
  return { name: Authorization.typeName, methods: { Check: { type: 'unary', handle, refuse } } }
}

/** Errors that stay: another replica may answer, or the caller has not proved who it is. */
const STAYING: readonly Status[] = [
  Status.UNAVAILABLE,
  Status.UNAUTHENTICATED,
  Status.PERMISSION_DENIED,
  Status.CANCELLED,
]

const reasonOf = (status: Status): 'deadline' | 'internal-error' | 'malformed-check' =>
  status === Status.DEADLINE_EXCEEDED
    ? 'deadline'
    : status === Status.UNKNOWN
      ? 'internal-error'
      : 'malformed-check'

/** Returns the answer to a call that no check answers: its message is not whole or too large, or the check is late. */
function refusalOf(
  error: unknown,
  { logger }: CheckOptions,
  limit: LogLimit,
): Uint8Array | undefined {
  const status = error instanceof GrpcError ? error.status : Status.UNKNOWN
  if (STAYING.includes(status)) return undefined
  const reason = error instanceof TooManyUnfinished ? error.reason : reasonOf(status)
  // The message of a GrpcError contains nothing of the request.
  const problem = error instanceof GrpcError ? error.message : 'the call failed'
  const leftOut = limit.take(`refused ${reason} ${String(status)}`)
  if (leftOut !== undefined)
    logger.warn({ reason, problem, leftOut }, 'a check was denied before its end')
  return encodeDecision(refuseUnchecked(reason), true)
}
