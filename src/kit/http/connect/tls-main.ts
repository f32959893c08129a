// Entry point of a thread that opens TLS connections.

import { parentPort, workerData } from 'node:worker_threads'
import { serveTls, type TlsPeer, type WantedTls } from './tls-connection.js'
import { createTlsContexts } from './tls-contexts.js'

const deps = {
  contexts: createTlsContexts(workerData as string),
  onSlow: (peer: TlsPeer) => parentPort?.postMessage(peer),
}

parentPort?.on('message', (wanted: WantedTls) => void serveTls(wanted, deps))
