// The kept connections to one webhook: an undici pool that connects by connectTarget() and tells each call whether its
// connection was open before (decisions 22 and 30).

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Client, type Dispatcher, Pool } from 'undici'
import type { RemoteTarget } from '../ir/remote-target.js'
import { connectTarget } from './connect.js'
import type { CallRemoteDeps } from './http-call.js'
import { CONNECTION_MS, type ConnectionUse } from './webhook-call.js'

/** Where to connect, and within which limits. */
export interface ConnectionLimits {
  readonly target: RemoteTarget
  /** 0: no limit. */
  readonly maxConnections: number
  /** How long an idle connection is kept, unless the server closes it before; 0: no limit. */
  readonly keepAliveSeconds: number
  /** Connect timeout in milliseconds. */
  readonly timeoutMs?: number | undefined
}

/** Longest timer of Node, in practice no limit. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** The open connections to a webhook. */
export interface OpenConnections {
  /** Closes idle connections until at most `most` are open; resolves when they are closed. */
  trim(most: number): Promise<void>
}

/** A pool of connections. */
export interface WebhookPool extends Pool, OpenConnections {}

/** Opens a pool. signal: aborts connection attempts. */
export function openPool(
  { target, maxConnections, keepAliveSeconds, timeoutMs = CONNECTION_MS }: ConnectionLimits,
  deps: CallRemoteDeps,
  signal: AbortSignal,
): WebhookPool {
  const keepAliveMs = keepAliveSeconds === 0 ? NO_LIMIT_MS : keepAliveSeconds * 1000
  const connections = new Set<Connection>()
  const pool = new Pool('http://webhook.invalid', {
    factory: (origin, options) => {
      const connection = new Connection(origin, options)
      connections.add(connection)
      return connection
    },
    connections: maxConnections === 0 ? null : maxConnections,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    // The limit for servers that announce how long they keep connections (Keep-Alive: timeout=5).
    keepAliveMaxTimeout: keepAliveMs,
    connect: (_options, callback) => {
      // However long a call may take, a failing connection attempt must give way to the next.
      const limit = AbortSignal.any([signal, AbortSignal.timeout(Math.min(timeoutMs, NO_LIMIT_MS))])
      connectTarget(target, deps, { signal: limit, timeoutMs }).then(
        (socket) => callback(null, socket),
        (error: unknown) => callback(error as Error, null),
      )
    },
  })
  // The pool replaces a client that could not connect.
  pool.on('connectionError', (_origin, targets) => {
    for (const target of targets) connections.delete(target as Connection)
  })
  const trim = async (most: number): Promise<void> => {
    const open = [...connections].filter(({ stats }) => stats.connected)
    const idle = open.filter(({ stats }) => stats.running === 0)
    await Promise.all(idle.slice(0, Math.max(0, open.length - most)).map((one) => one.disconnect()))
  }
  return Object.assign(pool, { trim })
}

/** The connector that a pool passes to its clients. */
type Connector = (
  options: object,
  callback: (...outcome: [Error, null] | [null, Socket]) => void,
) => void

class Connection extends Client {
  readonly #open: { socket?: Socket }

  constructor(origin: ConstructorParameters<typeof Client>[0], options: Client.Options) {
    const open: { socket?: Socket } = {}
    const connect = options.connect as unknown as Connector
    const remembering: Connector = (target, callback) =>
      connect(target, (...outcome) => {
        if (outcome[1] !== null) open.socket = outcome[1]
        callback(...outcome)
      })
    super(origin, { ...options, connect: remembering as unknown as Client.Options['connect'] })
    this.#open = open
  }

  override dispatch(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
  ): boolean {
    const { opaque } = options as Dispatcher.RequestOptions<ConnectionUse>
    // The pool passes a client one request at a time, and it connects for the first: an open connection is a kept one.
    if (opaque) opaque.wasKept = this.stats.connected
    return super.dispatch(options, handler)
  }

  /** Closes the connection, which must be idle. The next call opens another one. */
  async disconnect(): Promise<void> {
    const { socket } = this.#open
    if (socket === undefined || socket.destroyed) return
    const closed = once(socket, 'close')
    socket.destroy()
    await closed
  }
}
