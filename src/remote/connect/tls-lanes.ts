// The threads for TLS: peers that hold a thread for long, and those that strangers name, do not hold up the others.

import type { Duplex } from 'node:stream'
import type { Address, UpstreamTls } from '../../ir/destination.js'
import type { TlsPeer } from './tls-connection.js'
import { type TlsLimits, TlsThread } from './tls-thread.js'

/** Opens a TLS connection to an address. Rejects with RemoteError: unreachable, tls, aborted. */
export type ConnectTls = (address: Address, tls: UpstreamTls, limits: TlsLimits) => Promise<Duplex>

/** The connectors of a process. */
export interface TlsLanes {
  /** To what resources name. */
  readonly usual: ConnectTls
  /** To what unknown clients name. */
  readonly strangers: ConnectTls
  /** Ends all connections. */
  close(): void
}

/** What the threads are started with. */
export interface TlsLanesOptions {
  /** The system's certificate authorities (PEM). */
  readonly caFile: string
  /** URL of the compiled program of a thread. */
  readonly program?: URL
}

/** Number of peers that are remembered as slow. */
const MOST_SLOW = 1_000
/** How long they are, as a busy machine may have been the cause. */
const SLOW_FOR_MS = 600_000

/** Creates the connectors; their threads start when they are needed. */
export function createTlsLanes(options: TlsLanesOptions): TlsLanes {
  const slow = new SlowPeers()
  const threadOf = (): TlsThread => new TlsThread({ ...options, onSlow: (peer) => slow.add(peer) })
  const [quick, slower, strangers] = [threadOf(), threadOf(), threadOf()]
  return {
    usual: (address, tls, limits) =>
      (slow.has({ address, hostname: tls.hostname }) ? slower : quick).connect(
        address,
        tls,
        limits,
      ),
    strangers: (address, tls, limits) => strangers.connect(address, tls, limits),
    close: () => {
      for (const thread of [quick, slower, strangers]) thread.close()
    },
  }
}

/** The peers that have held a thread for long, the last one at the end. */
class SlowPeers {
  /** TlsPeer → until when it counts as slow, by performance.now(). */
  readonly #until = new Map<string, number>()

  add(peer: TlsPeer): void {
    this.#until.delete(peerOf(peer))
    const [oldest] = this.#until.keys()
    if (this.#until.size >= MOST_SLOW && oldest !== undefined) this.#until.delete(oldest)
    this.#until.set(peerOf(peer), performance.now() + SLOW_FOR_MS)
  }

  has(peer: TlsPeer): boolean {
    return (this.#until.get(peerOf(peer)) ?? 0) > performance.now()
  }
}

const peerOf = ({ address: { ip, port }, hostname }: TlsPeer): string =>
  `${hostname} ${ip} ${String(port)}`
