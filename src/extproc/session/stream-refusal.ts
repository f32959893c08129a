// The answer to a request whose stream fails. Some Envoys let a request pass if its stream ends with an error
// (failure_mode_allow), but never one that was answered.

import { TooManyUnfinished } from '../../wire/grpc/message-budget.js'
import { GrpcError, Status } from '../../wire/grpc/status.js'
import { errorReply, immediateResponse, withRequestId } from './immediate-response.js'
import type { Headers } from './process-message.js'

/** Why a stream fails, for logs. */
export type StreamFailure =
  'internal-error' | 'unavailable' | 'unknown-route' | 'too-many-unfinished-messages'

/** Returns why the server ends a stream with this error. */
export function failureOf(error: unknown): Exclude<StreamFailure, 'unknown-route'> {
  if (error instanceof TooManyUnfinished) return error.reason
  const isLate = error instanceof GrpcError && error.status === Status.DEADLINE_EXCEEDED
  return isLate ? 'unavailable' : 'internal-error'
}

/**
 * Encodes the answer, a 503. If the headers of a reply have left, Envoy resets the client instead. headers: the request's,
 * if they are known.
 */
export const refusedStream = (reason: StreamFailure, headers?: Headers): Uint8Array =>
  immediateResponse(
    withRequestId(
      errorReply(503, ['temporarily_unavailable', PROBLEMS[reason]], `gatehouse_${reason}`, {
        'retry-after': '1',
      }),
      headers,
    ),
  )

const PROBLEMS: Readonly<Record<StreamFailure, string>> = {
  'internal-error': 'the request could not be processed',
  unavailable: 'the gateway is restarting',
  'too-many-unfinished-messages': 'the gateway is busy',
  'unknown-route': 'the gateway does not know this route',
}
