// The threads for TLS: peers that hold a thread for long, and those that strangers name, do not hold up the others.

import { MessageChannel, Worker } from 'node:worker_threads'
import type { Address, UpstreamTls } from '../../../model/destination.js'
import { ownFile } from '../../own-files.js'
import { PortStream } from './port-stream.js'
import { RemoteError } from './remote-failure.js'
import type { TlsOutcome, TlsPeer, WantedTls } from './tls-connection.js'

/** Opens a TLS connection to an address. Rejects with RemoteError: unreachable, tls, aborted. */
export type ConnectTls = (
  address: Address,
  tls: UpstreamTls,
  limits: TlsLimits,
) => Promise<PortStream>

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

// A thread that does the TLS of outgoing connections. A peer may send a chain of certificates that takes half a second to
// verify, before it is known whether it is trusted, and OpenSSL verifies it within one read.

/** Limits of a connection attempt; timeoutMs is that of TCP. */
interface TlsLimits {
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

/** What a thread is started with. */
export interface TlsThreadOptions {
  /** The system's certificate authorities (PEM). */
  readonly caFile: string
  /** URL of the compiled program. */
  readonly program?: URL | undefined
  /** Called for a peer that has held the thread for long. */
  readonly onSlow: (peer: TlsPeer) => void
}

const PROGRAM = ownFile('dist/kit/http/connect/tls-main.js')

/** Starts its thread at the first connection, and again if it has ended, which ends its connections. */
export class TlsThread {
  readonly #options: TlsThreadOptions
  #worker: Worker | undefined

  constructor(options: TlsThreadOptions) {
    this.#options = options
  }

  /** Connects. Rejects with RemoteError: unreachable, tls, aborted. */
  connect(
    address: Address,
    tls: UpstreamTls,
    { signal, timeoutMs }: TlsLimits,
  ): Promise<PortStream> {
    const { port1: own, port2: port } = new MessageChannel()
    const wanted: WantedTls = { address, tls, timeoutMs, port }
    this.#worker ??= this.#start()
    this.#worker.postMessage(wanted, [port])
    return new Promise((resolve, reject) => {
      const settle = (outcome: TlsOutcome): void => {
        signal.removeEventListener('abort', onAbort)
        own.off('message', settle).off('close', onClose)
        if (outcome === 'open') return resolve(new PortStream(own))
        own.close()
        reject(new RemoteError(outcome))
      }
      const onAbort = (): void => settle({ type: 'aborted' })
      const onClose = (): void =>
        settle({ type: 'tls', hostname: tls.hostname, code: 'ECONNRESET' })
      own.on('message', settle).on('close', onClose)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort)
    })
  }

  /** Ends the thread, and with it its connections. */
  close(): void {
    void this.#worker?.terminate()
    this.#worker = undefined
  }

  #start(): Worker {
    const worker = new Worker(this.#options.program ?? PROGRAM, {
      workerData: this.#options.caFile,
      // Without the flags of a debugger or test runner.
      execArgv: [],
    })
    worker.on('message', (peer: TlsPeer) => this.#options.onSlow(peer))
    // Its connections close, which their callers notice.
    worker.on('error', () => undefined)
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    worker.unref()
    return worker
  }
}
