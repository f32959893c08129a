// Calls guardrail webhooks over kept connections: one pool per backend and limits, bounded in number, time and
// bytes, without redirects, to allowed addresses only (decisions 21, 22 and 30).

import { setMaxListeners } from 'node:events'
import type { RemoteTarget } from '../ir/remote-target.js'
import type { CallRemoteDeps } from './http-call.js'
import { type CallResult, type PooledCall, WebhookCall } from './webhook-call.js'
import { type OpenConnections, WebhookPool } from './webhook-connections.js'
import { createLine, type WebhookLine } from './webhook-line.js'

/** The connections to all webhooks. */
export interface WebhookPools {
  /** Calls a webhook. Never rejects. */
  call(request: PooledCall): Promise<CallResult>
  /** Ends the calls under way. Resolves when no socket is left. */
  close(): Promise<void>
}

/** The queues in front of webhooks. */
export interface WebhookLines {
  /** Opens a queue. key: names the pool; max: its connections, 0: no limit. connections: can be trimmed on request. */
  open(key: string, max: number, connections: OpenConnections): WebhookLine
}

const OWN_LINES: WebhookLines = { open: (_key, max) => createLine(max) }

/** The connections to the current endpoints of a webhook. */
interface Connections {
  readonly target: RemoteTarget
  readonly pool: WebhookPool
  readonly connecting: AbortController
}

interface OpenPool {
  /** Waiting calls stay in it when the endpoints change. */
  readonly line: WebhookLine
  connections: Connections
}

/** Creates the pools. lines: the queues, if several processes share the limits. */
export function createWebhookPools(
  deps: CallRemoteDeps,
  lines: WebhookLines = OWN_LINES,
): WebhookPools {
  const pools = new Map<string, OpenPool>()
  const closing = new Set<Promise<void>>()

  const connect = (call: PooledCall): Connections => {
    const connecting = new AbortController()
    // Each connection attempt adds a listener.
    setMaxListeners(0, connecting.signal)
    return { target: call.target, pool: new WebhookPool(call, deps, connecting.signal), connecting }
  }
  const retire = ({ pool, connecting }: Connections, end: () => Promise<void>): void => {
    const ended = end()
      .catch(() => pool.destroy())
      .finally(() => {
        connecting.abort()
        closing.delete(ended)
      })
    closing.add(ended)
  }
  const poolOf = (call: PooledCall): OpenPool => {
    const key = `${call.backend} ${call.maxConnections} ${call.keepAliveSeconds}`
    const known = pools.get(key)
    if (known === undefined) {
      const connections = connect(call)
      const trim = (most: number): Promise<void> => open.connections.pool.trim(most)
      const line = lines.open(key, call.maxConnections, { trim })
      const open: OpenPool = { line, connections }
      pools.set(key, open)
      return open
    }
    const { connections } = known
    if (!isSamePlace(connections.target, call.target)) {
      // Calls under way finish on the connections they began on.
      retire(connections, () => connections.pool.close())
      known.connections = connect(call)
    }
    return known
  }

  return {
    call: (request) =>
      new Promise((resolve) => {
        const open = poolOf(request)
        new WebhookCall(request, open.line, () => open.connections.pool, resolve).start()
      }),
    close: async () => {
      for (const { connections } of pools.values()) {
        connections.connecting.abort()
        retire(connections, () => connections.pool.destroy())
      }
      pools.clear()
      await Promise.all(closing)
    },
  }
}

/** Whether two targets lead to the same place. Targets are rebuilt with each configuration change, mostly unchanged. */
const isSamePlace = (one: RemoteTarget, other: RemoteTarget): boolean =>
  one === other ||
  JSON.stringify([one.endpoints, one.tls]) === JSON.stringify([other.endpoints, other.tls])
