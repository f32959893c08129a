// All failures of Gatehouse's own calls, and their messages, which never contain any part of an answer.

import { GatehouseError } from '../../errors.js'

/** Connection codes are Node's (ECONNREFUSED, ENOTFOUND, …). */
export type RemoteFailure =
  | { readonly type: 'no-endpoints' }
  | { readonly type: 'unresolved'; readonly host: string; readonly code: string }
  /** The address is not allowed (decision 30). */
  | { readonly type: 'forbidden-address'; readonly host: string; readonly why: string }
  | { readonly type: 'unreachable'; readonly address: string; readonly code: string }
  | { readonly type: 'tls'; readonly hostname: string; readonly code: string }
  /** Timeout of the whole call, from name resolution to the last byte. */
  | { readonly type: 'timeout'; readonly timeoutMs: number }
  | { readonly type: 'aborted' }
  /** The queue of the webhook is full. waiting: its limit, for all workers together. */
  | { readonly type: 'busy'; readonly waiting: number }
  /** No connection to the webhook became free in that time. */
  | { readonly type: 'no-connection'; readonly waitedMs: number }
  | { readonly type: 'redirect'; readonly status: number }
  | { readonly type: 'too-large'; readonly maxBytes: number }
  | { readonly type: 'encoding' }
  /** The connection was reset, or the answer was not HTTP. */
  | { readonly type: 'broken'; readonly code: string }
  | { readonly type: 'invalid-url' }

/** Returns a sentence about a failure. */
export function describeFailure(failure: RemoteFailure): string {
  switch (failure.type) {
    case 'no-endpoints':
      return 'the backend has no endpoints'
    case 'unresolved':
      return `the name ${failure.host} cannot be resolved (${failure.code})`
    case 'forbidden-address':
      return `${failure.host} is ${failure.why}, which is never called`
    case 'unreachable':
      return `no connection to ${failure.address} (${failure.code})`
    case 'tls':
      return `TLS to ${failure.hostname} failed (${failure.code})`
    case 'timeout':
      return `no complete answer within ${failure.timeoutMs} ms`
    case 'aborted':
      return 'the call was given up'
    case 'busy':
      return `${failure.waiting} calls wait for a connection already`
    case 'no-connection':
      return `no connection was free within ${failure.waitedMs} ms`
    case 'redirect':
      return `HTTP ${failure.status}: redirects are not followed`
    case 'too-large':
      return `the answer is larger than ${failure.maxBytes} bytes`
    case 'encoding':
      return 'the answer is compressed in a way that was not asked for, or damaged'
    case 'broken':
      return `the connection broke (${failure.code})`
    case 'invalid-url':
      return 'the URL is not an absolute http or https URL'
  }
}

/** Carries a failure through rejected promises; never leaves this folder. */
export class RemoteError extends GatehouseError {
  readonly code = 'remote_failure'

  readonly failure: RemoteFailure

  constructor(failure: RemoteFailure) {
    super(describeFailure(failure))
    this.name = 'RemoteError'
    this.failure = failure
  }
}

/** Returns the failure that an error carries; every other error broke the connection. */
export const remoteFailureOf = (error: unknown): RemoteFailure =>
  error instanceof RemoteError ? error.failure : { type: 'broken', code: codeOf(error) }

/** Returns the code of a Node error for messages, e.g. ECONNRESET or ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE; else "unknown". */
export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' && /^[A-Z0-9_/]{1,60}$/.test(code) ? code : 'unknown'
}
