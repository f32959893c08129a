// Whether a port of Envoy accepts connections: it acknowledges a listener a moment before its workers listen.

import { once } from 'node:events'
import { connect } from 'node:net'
import { eventually } from '../../testing/eventually.js'

/** How long a busy Envoy may take. */
const LISTEN_MS = 5_000

/** Whether one of the documents names the port. */
export const isNamedIn = (documents: readonly object[], port: number): boolean =>
  JSON.stringify(documents).includes(`"port":${String(port)}`)

/** Rejects if nobody accepts connections at the port of this machine. */
export async function accepts(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}

/** Waits for the port if the documents name it. One that the documents do not open, by intention, is not waited for long. */
export async function untilListening(documents: readonly object[], port: number): Promise<void> {
  if (isNamedIn(documents, port))
    await eventually(() => accepts(port), LISTEN_MS).catch(() => undefined)
}
