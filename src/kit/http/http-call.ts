// Calls remote targets by HTTP: bounded in time and bytes, no redirects, allowed addresses only (decisions 2 and 30).

import { lookup as lookupName } from 'node:dns/promises'
import type { RemoteTarget } from '../../model/remote-target.js'
import { joined } from '../byte-collector.js'
import { err, ok, type Result } from '../result.js'
import type { Connecting } from './connect/connect.js'
import { RemoteError, type RemoteFailure, remoteFailureOf } from './connect/remote-failure.js'
import type { Lookup } from './connect/resolve.js'
import { sharedLookup } from './connect/shared-lookup.js'
import { TargetConnection } from './connection.js'
import { type Answer, decodedBody } from './exchange.js'

/** A request to a remote target. */
export interface RemoteRequest {
  readonly method: 'GET' | 'POST'
  /** Lower-case names. host, connection, accept-encoding and x-forwarded-proto are overridden. accept: default application/json. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Timeout of the whole call, from name resolution to the last byte, in milliseconds. Default 5000. */
  readonly timeoutMs?: number
  /** Maximum size of the body, also after decoding. Default 1 MiB. */
  readonly maxBytes?: number
  /** Aborts the call; its sockets are closed. */
  readonly signal?: AbortSignal
}

/** An answer with any status except a redirect. */
export interface RemoteAnswer {
  readonly status: number
  /** Names in lower case, repeated headers joined by ", ". */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

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
    const { method, body, signal, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES } = request
    if (signal?.aborted === true) return err({ type: 'aborted' })
    const connection = new TargetConnection({ target, timeoutMs }, deps)
    let giveUp: (error: RemoteError) => void = () => undefined
    const ended = new Promise<never>((_resolve, reject) => {
      giveUp = reject
    })
    // Nobody may be waiting for it.
    ended.catch(() => undefined)
    const end = (failure: RemoteFailure): void => {
      void connection.destroy(failure)
      giveUp(new RemoteError(failure))
    }
    const onAbort = () => end({ type: 'aborted' })
    const timer = setTimeout(() => end({ type: 'timeout', timeoutMs }), timeoutMs)
    signal?.addEventListener('abort', onAbort)
    try {
      const path = url.pathname + url.search
      const headers = headersOf(target, url, request)
      const answer = await connection.exchange({ method, path, headers, body, maxBytes })
      // The threads that unpack may be busy for longer.
      return ok(await Promise.race([wholeAnswer(answer, maxBytes), ended]))
    } catch (error) {
      return err(remoteFailureOf(error))
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      await connection.destroy({ type: 'aborted' })
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
  connection: 'close',
  host: url.host,
  ...(target.forwardedProto === undefined ? {} : { 'x-forwarded-proto': target.forwardedProto }),
})

async function wholeAnswer(answer: Answer, maxBytes: number): Promise<RemoteAnswer> {
  const headers = Object.entries(answer.headers).map(([name, value]) => [
    name,
    [value ?? ''].flat().join(', '),
  ])
  return {
    status: answer.status,
    headers: Object.fromEntries(headers) as RemoteAnswer['headers'],
    body: joined(await decodedBody(answer, maxBytes)),
  }
}
