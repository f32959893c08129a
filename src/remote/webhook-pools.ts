// Calls to guardrail webhooks over kept connections: one undici pool per backend and limits, bounded in number, time
// and bytes, no redirects, to allowed addresses only (decisions 21, 22 and 30).

import { setMaxListeners } from 'node:events'
import type { Pool } from 'undici'
import type { RemoteTarget } from '../ir/remote-target.js'
import { err, ok, type Result } from '../result.js'
import { startDeadline, withDeadline } from './deadline.js'
import { receive, type Answer } from './exchange.js'
import type { CallRemoteDeps } from './http-call.js'
import { codeOf, RemoteError, type RemoteFailure } from './remote-failure.js'
import { openPool, type ConnectionUse } from './webhook-connections.js'

export interface PooledCall {
  /** Calls of the same backend and limits share their connections. */
  readonly backend: string
  readonly target: RemoteTarget
  /** 0: no limit. */
  readonly maxConnections: number
  /** How long an idle connection is kept, if the server does not end it before; 0: no limit. */
  readonly keepAliveSeconds: number
  readonly method: string
  /** With the query. */
  readonly path: string
  /** Lower-case names; host included. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** Milliseconds from here to the last byte, waiting for a connection included; absent: none. */
  readonly timeoutMs?: number | undefined
  readonly maxBytes: number
  /** Gives the call up. */
  readonly signal: AbortSignal
}

export interface WebhookPools {
  /** Never rejects. */
  call(request: PooledCall): Promise<Result<Answer, RemoteFailure>>
  /** Ends the calls under way; no socket is left when it resolves. */
  close(): Promise<void>
}

interface OpenPool {
  /** Where it connects, and how. */
  readonly identity: string
  readonly pool: Pool
  readonly connecting: AbortController
}

export function createWebhookPools(deps: CallRemoteDeps): WebhookPools {
  const pools = new Map<string, OpenPool>()
  const closing = new Set<Promise<void>>()

  const retire = ({ pool, connecting }: OpenPool, end: () => Promise<void>): void => {
    const ended = end()
      .catch(() => pool.destroy())
      .finally(() => {
        connecting.abort()
        closing.delete(ended)
      })
    closing.add(ended)
  }

  const poolOf = (call: PooledCall): Pool => {
    const key = `${call.backend} ${call.maxConnections} ${call.keepAliveSeconds}`
    const { endpoints, tls } = call.target
    const identity = JSON.stringify([endpoints, tls])
    const known = pools.get(key)
    if (known?.identity === identity) return known.pool
    // Endpoints or TLS changed: what is under way ends where it began.
    if (known !== undefined) retire(known, () => known.pool.close())
    const connecting = new AbortController()
    // One listener per connection that is being made.
    setMaxListeners(0, connecting.signal)
    const pool = openPool(call, deps, connecting.signal)
    pools.set(key, { identity, pool, connecting })
    return pool
  }

  return {
    call: async (request) => {
      if (request.signal.aborted) return err({ type: 'aborted' })
      const deadline = startDeadline(request.timeoutMs, request.signal)
      try {
        return ok(await withDeadline(attempt(poolOf(request), request, deadline.signal), deadline))
      } catch (error) {
        return err(deadline.failure() ?? failureOf(error))
      } finally {
        deadline.end()
      }
    },
    close: async () => {
      for (const open of pools.values()) {
        open.connecting.abort()
        retire(open, () => open.pool.destroy())
      }
      pools.clear()
      await Promise.all(closing)
    },
  }
}

/**
 * The server may have closed a kept connection just before it was used: once more then. What went out over a new one
 * may have been processed, and is not repeated (RFC 9110 section 9.2.2).
 */
const attempt = async (pool: Pool, call: PooledCall, signal: AbortSignal): Promise<Answer> => {
  const use: ConnectionUse = { wasKept: false }
  try {
    return await exchangeOnce(pool, call, use, signal)
  } catch (error) {
    if (signal.aborted || !use.wasKept || !LOST.has(codeOf(error))) throw error
    return exchangeOnce(pool, call, { wasKept: false }, signal)
  }
}

/** Before there was an answer. */
const LOST = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

const exchangeOnce = async (
  pool: Pool,
  { method, path, headers, body, maxBytes }: PooledCall,
  use: ConnectionUse,
  signal: AbortSignal,
): Promise<Answer> => {
  const answer = await pool.request({ method, path, headers, body, signal, opaque: use })
  try {
    return await receive(answer, maxBytes)
  } catch (error) {
    // What is left of the answer is not waited for: the connection goes with it.
    answer.body.on('error', () => {}).destroy()
    throw error instanceof RemoteError
      ? error
      : new RemoteError({ type: 'broken', code: codeOf(error) })
  }
}

const failureOf = (error: unknown): RemoteFailure =>
  error instanceof RemoteError ? error.failure : { type: 'broken', code: codeOf(error) }
