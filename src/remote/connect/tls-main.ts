// Entry point of a thread that opens TLS connections.

import { parentPort, workerData } from 'node:worker_threads'
import { serveTls, type WantedTls } from './tls-connection.js'
import { createTlsContexts } from './tls-contexts.js'
import type { SlowPeerNote } from './tls-thread.js'

const deps = {
  contexts: createTlsContexts(workerData as string),
  now: () => performance.now(),
  onSlow: (address: SlowPeerNote['address'], { hostname }: { readonly hostname: string }) =>
    parentPort?.postMessage({ address, hostname } satisfies SlowPeerNote),
}

parentPort?.on('message', (wanted: WantedTls) => void serveTls(wanted, deps))
