// Connects to a target: to the first address that answers, over TLS as configured by its BackendTLSPolicy.

import type { Duplex } from 'node:stream'
import type { Address } from '../../../model/destination.js'
import type { RemoteTarget } from '../../../model/remote-target.js'
import { openTcp } from './open-tcp.js'
import { RemoteError } from './remote-failure.js'
import { resolveEndpoints, type Resolving } from './resolve.js'
import type { ConnectTls } from './tls-lanes.js'

const MIN_ATTEMPT_MS = 250

/** What connections are opened with. */
export interface Connecting extends Resolving {
  readonly connectTls: ConnectTls
}

/** A connection that counts the bytes of its server. */
export interface ReadSocket extends Duplex {
  readonly bytesRead: number
}

/** Limits of connecting. timeoutMs is shared by the addresses. */
export interface ConnectLimits {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** Connects, or rejects with RemoteError. An abort leaves no socket behind. */
export async function connectTarget(
  target: RemoteTarget,
  deps: Connecting,
  limits: ConnectLimits,
): Promise<ReadSocket> {
  const { signal } = limits
  const addresses = await resolveEndpoints(target.endpoints, deps, signal)
  const timeoutMs = Math.max(MIN_ATTEMPT_MS, limits.timeoutMs / addresses.length)
  const connect = (address: Address): Promise<ReadSocket> =>
    target.tls === undefined
      ? openTcp(address, timeoutMs, signal)
      : deps.connectTls(address, target.tls, { signal, timeoutMs })
  let last = new RemoteError({ type: 'aborted' })
  for (const address of addresses) {
    if (signal.aborted) break
    try {
      return await connect(address)
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error
      last = error
      // TLS would fail on the next address as well; only a failed connection is worth another attempt.
      if (error.failure.type === 'tls') break
    }
  }
  throw last
}
