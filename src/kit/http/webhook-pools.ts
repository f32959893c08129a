// Calls guardrail webhooks over kept connections: one pool per backend and limits, bounded in number, time and
// bytes, without redirects, to allowed addresses only (decisions 21, 22 and 30).

import type { Connecting } from './connect/connect.js'
import { type CallResult, type PooledCall, WebhookCall } from './webhook-call.js'
import { WebhookConnections } from './webhook-connections.js'
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
  open(key: string, max: number, connections: Pick<WebhookConnections, 'trim'>): WebhookLine
}

const OWN_LINES: WebhookLines = { open: (_key, max) => createLine(max) }

interface OpenPool {
  readonly line: WebhookLine
  readonly connections: WebhookConnections
}

/** Creates the pools. lines: the queues, if several processes share the limits. */
export function createWebhookPools(
  deps: Connecting,
  lines: WebhookLines = OWN_LINES,
): WebhookPools {
  const pools = new Map<string, OpenPool>()

  const poolOf = ({ backend, maxConnections, keepAliveSeconds }: PooledCall): OpenPool => {
    const key = `${backend} ${maxConnections} ${keepAliveSeconds}`
    const known = pools.get(key)
    if (known !== undefined) return known
    const connections = new WebhookConnections(maxConnections, deps)
    const open = { line: lines.open(key, maxConnections, connections), connections }
    pools.set(key, open)
    return open
  }

  return {
    call: (request) => {
      const { line, connections } = poolOf(request)
      connections.note(request)
      return new WebhookCall(request, line, () => connections.take(request)).result()
    },
    close: async () => {
      const ended = [...pools.values()].map(({ connections }) => connections.close())
      pools.clear()
      await Promise.all(ended)
    },
  }
}
