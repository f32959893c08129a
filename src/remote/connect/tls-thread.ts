// A thread that does the TLS of outgoing connections. A peer may send a chain of certificates that takes half a second to
// verify, before it is known whether it is trusted, and OpenSSL verifies it within one read.

import type { Duplex } from 'node:stream'
import { MessageChannel, Worker } from 'node:worker_threads'
import type { Address, UpstreamTls } from '../../ir/destination.js'
import { ownFile } from '../../own-files.js'
import { PortStream } from './port-stream.js'
import { RemoteError } from './remote-failure.js'
import type { TlsOutcome, TlsPeer, WantedTls } from './tls-connection.js'

/** Limits of a connection attempt; timeoutMs is that of TCP. */
export interface TlsLimits {
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

const PROGRAM = ownFile('dist/remote/connect/tls-main.js')

/** Starts its thread at the first connection, and again if it has ended, which ends its connections. */
export class TlsThread {
  readonly #options: TlsThreadOptions
  #worker: Worker | undefined

  constructor(options: TlsThreadOptions) {
    this.#options = options
  }

  /** Connects. Rejects with RemoteError: unreachable, tls, aborted. */
  connect(address: Address, tls: UpstreamTls, { signal, timeoutMs }: TlsLimits): Promise<Duplex> {
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
