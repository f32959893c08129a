// Calls remote targets by HTTP: bounded in time and bytes, no redirects, allowed addresses only (decisions 2 and 30).

import { lookup as lookupName } from 'node:dns/promises'
import type { RemoteTarget } from '../../model/remote-target.js'
import { err, ok, type Result } from '../result.js'
import { type Connecting, connectTarget } from './connect/connect.js'
import { codeOf, RemoteError, type RemoteFailure } from './connect/remote-failure.js'
import type { Lookup } from './connect/resolve.js'
import { sharedLookup } from './connect/shared-lookup.js'
import { type Answer, exchange } from './exchange.js'

/** A request to a remote target. */
export interface RemoteRequest {
  readonly method: 'GET' | 'POST'
  /** Lower-case names. host, accept-encoding and x-forwarded-proto are overridden. accept: default application/json. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Timeout of the whole call, from name resolution to the last byte, in milliseconds. Default 5000. */
  readonly timeoutMs?: number
  /** Maximum size of the body, also after decoding. Default 1 MiB. */
  readonly maxBytes?: number
  /** Aborts the call; its sockets are closed. */
  readonly signal?: AbortSignal
}

/** An answer with any status except a redirect. Header names are in lower case, repeated headers joined by ", ". */
export type RemoteAnswer = Answer

/** Calls a target. Never rejects. */
export type CallRemote = (
  target: RemoteTarget,
  request: RemoteRequest,
) => Promise<Result<RemoteAnswer, RemoteFailure>>

const TIMEOUT_MS = 5_000
const MAX_BYTES = 1024 * 1024

/** The operating system's resolver. */
export const systemLookup: Lookup = sharedLookup((host) => lookupName(host, { all: true }))

/** Creates a function that calls remote targets. */
export const createCallRemote =
  (deps: Connecting): CallRemote =>
  async (target, request) => {
    const url = httpUrl(target.url)
    if (url === undefined) return err({ type: 'invalid-url' })
    if (request.signal?.aborted === true) return err({ type: 'aborted' })
    const timeoutMs = request.timeoutMs ?? TIMEOUT_MS
    const deadline = startDeadline(timeoutMs, request.signal)
    const { signal } = deadline
    const call = async () => {
      const socket = await connectTarget(target, deps, { signal, timeoutMs })
      return exchange(socket, {
        url,
        method: request.method,
        headers: headersOf(target, url, request),
        body: request.body,
        maxBytes: request.maxBytes ?? MAX_BYTES,
        signal,
      })
    }
    try {
      return ok(await withDeadline(call(), deadline))
    } catch (error) {
      return err(deadline.failure() ?? failureOf(error))
    } finally {
      deadline.end()
    }
  }

const httpUrl = (text: string): URL | undefined =>
  /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined

const headersOf = (
  target: RemoteTarget,
  url: URL,
  request: RemoteRequest,
): Record<string, string> => ({
  accept: 'application/json',
  'user-agent': 'gatehouse',
  ...request.headers,
  'accept-encoding': 'identity',
  host: url.host,
  ...(target.forwardedProto === undefined ? {} : { 'x-forwarded-proto': target.forwardedProto }),
})

const failureOf = (error: unknown): RemoteFailure =>
  error instanceof RemoteError ? error.failure : { type: 'broken', code: codeOf(error) }

// Ends a call at its timeout or by its caller's signal, and records which of them came first.

/** The end of a call at the latest. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Returns why the call ended early; undefined if it did not. */
  failure(): RemoteFailure | undefined
  /** Releases the timer and the caller's signal. */
  end(): void
}

/** Longest timer of Node; a later deadline is in practice none. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Starts a deadline. timeoutMs: undefined for none. */
function startDeadline(timeoutMs: number | undefined, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController()
  let failure: RemoteFailure | undefined
  const stop = (reason: RemoteFailure) => {
    failure ??= reason
    controller.abort()
  }
  const onCallerAbort = () => stop({ type: 'aborted' })
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => stop({ type: 'timeout', timeoutMs }), Math.min(timeoutMs, MAX_TIMER_MS))
  if (caller?.aborted === true) onCallerAbort()
  else caller?.addEventListener('abort', onCallerAbort, { once: true })
  return {
    signal: controller.signal,
    failure: () => failure,
    end: () => {
      clearTimeout(timer)
      caller?.removeEventListener('abort', onCallerAbort)
    },
  }
}

/** Settles with work, or rejects at the deadline even if work cannot be stopped (a name resolution). */
async function withDeadline<T>(work: Promise<T>, deadline: Deadline): Promise<T> {
  let onAbort = () => {}
  const ended = new Promise<never>((_, reject) => {
    onAbort = () => reject(new RemoteError(deadline.failure() ?? { type: 'aborted' }))
    if (deadline.signal.aborted) onAbort()
    else deadline.signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work, ended])
  } finally {
    deadline.signal.removeEventListener('abort', onAbort)
  }
}
