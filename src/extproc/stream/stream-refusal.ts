// The answer to a request whose stream fails. Some Envoys let a request pass if its stream ends with an error
// (failure_mode_allow), but never one that was answered.

import { errorReply, immediateResponse, withRequestId } from './immediate-response.js'
import type { Headers } from './process-message.js'

/** Why a stream fails, for logs. */
export type StreamFailure = 'internal-error' | 'unavailable' | 'unknown-route'

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
  'unknown-route': 'the gateway does not know this route',
}
