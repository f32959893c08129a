// Calls to guardrail webhooks over kept connections: one undici pool per backend and limits, bounded in number, time
// and bytes, no redirects, to allowed addresses only (decisions 21, 22 and 30).

import { setMaxListeners } from 'node:events'
import type { Pool } from 'undici'
import type { RemoteTarget } from '../ir/remote-target.js'
import type { CallRemoteDeps } from './http-call.js'
import { type CallResult, type PooledCall, WebhookCall } from './webhook-call.js'
import { openPool } from './webhook-connections.js'
import { createLine, type WebhookLine } from './webhook-line.js'

export interface WebhookPools {
  /** Never rejects. */
  call(request: PooledCall): Promise<CallResult>
  /** Ends the calls under way; no socket is left when it resolves. */
  close(): Promise<void>
}

/** The connections to where a webhook is now. */
interface Connections {
  readonly target: RemoteTarget
  readonly pool: Pool
  readonly connecting: AbortController
}

interface OpenPool {
  /** Who waits stays in it when the endpoints change. */
  readonly line: WebhookLine
  connections: Connections
}

export function createWebhookPools(deps: CallRemoteDeps): WebhookPools {
  const pools = new Map<string, OpenPool>()
  const closing = new Set<Promise<void>>()

  const connect = (call: PooledCall): Connections => {
    const connecting = new AbortController()
    // One listener per connection that is being made.
    setMaxListeners(0, connecting.signal)
    return { target: call.target, pool: openPool(call, deps, connecting.signal), connecting }
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
      const open = { line: createLine(call.maxConnections), connections: connect(call) }
      pools.set(key, open)
      return open
    }
    const { connections } = known
    if (!isSamePlace(connections.target, call.target)) {
      // What is under way ends where it began.
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

/** Targets are built anew with each change of the configuration: mostly it is the very same one. */
const isSamePlace = (one: RemoteTarget, other: RemoteTarget): boolean =>
  one === other ||
  JSON.stringify([one.endpoints, one.tls]) === JSON.stringify([other.endpoints, other.tls])
