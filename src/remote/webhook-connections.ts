// The kept connections to one webhook: an undici pool that connects as all of our calls do, and tells a call whether
// its connection was used before (decisions 22 and 30).

import { Client, type Dispatcher, Pool } from 'undici'
import type { RemoteTarget } from '../ir/remote-target.js'
import { connectTarget } from './connect.js'
import type { CallRemoteDeps } from './http-call.js'
import { CONNECTION_MS, type ConnectionUse } from './webhook-call.js'

export interface ConnectionLimits {
  readonly target: RemoteTarget
  /** 0: no limit. */
  readonly maxConnections: number
  /** How long an idle connection is kept, if the server does not end it before; 0: no limit. */
  readonly keepAliveSeconds: number
  /** Milliseconds for a connection to be made. */
  readonly timeoutMs?: number | undefined
}

/** Node's longest timer, which is no limit in practice. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** signal: gives up the connections that are being made. */
export function openPool(
  { target, maxConnections, keepAliveSeconds, timeoutMs = CONNECTION_MS }: ConnectionLimits,
  deps: CallRemoteDeps,
  signal: AbortSignal,
): Pool {
  const keepAliveMs = keepAliveSeconds === 0 ? NO_LIMIT_MS : keepAliveSeconds * 1000
  return new Pool('http://webhook.invalid', {
    factory: (origin, options) => new Connection(origin, options),
    connections: maxConnections === 0 ? null : maxConnections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    // Of a server that says how long it keeps its connections (Keep-Alive: timeout=5).
    keepAliveMaxTimeout: keepAliveMs,
    connect: (_options, callback) => {
      // Whatever a call may take, a connection that cannot be made gives way to the next.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.min(timeoutMs, NO_LIMIT_MS))])
      connectTarget(target, deps, { signal: limit, timeoutMs }).then(
        (socket) => callback(null, socket),
        (error: unknown) => callback(error as Error, null),
      )
    },
  })
}

class Connection extends Client {
  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const { opaque } = options as Dispatcher.RequestOptions<ConnectionUse>
    // The pool gives a client one request at a time: it connects for the first, so what is open was there before.
    if (opaque) opaque.wasKept = this.stats.connected
    return super.dispatch(options, handler)
  }
}
