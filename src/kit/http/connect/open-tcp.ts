// Opens TCP connections, and waits for events of sockets.

import { connect, isIP, type Socket } from 'node:net'
import type { Address } from '../../../model/destination.js'
import { GatehouseError } from '../../errors.js'
import { codeOf, RemoteError } from './remote-failure.js'

/** Idle time after which TCP sends a keepalive probe. */
const QUIET_MS = 30_000

/** Connects to an address. Rejects with RemoteError (unreachable). An abort leaves no socket behind. */
export async function openTcp(
  address: Address,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = connect({
    host: address.ip,
    port: address.port,
    noDelay: true,
    // A call may have no deadline, so a peer that vanished must be detected by keepalive.
    keepAlive: true,
    keepAliveInitialDelay: QUIET_MS,
  })
  const timer = setTimeout(() => socket.destroy(new AttemptTimeout()), timeoutMs)
  try {
    await opened(socket, 'connect', signal)
    return socket
  } catch (error) {
    const shown = isIP(address.ip) === 6 ? `[${address.ip}]` : address.ip
    throw new RemoteError({
      type: 'unreachable',
      address: `${shown}:${address.port}`,
      code: codeOf(error),
    })
  } finally {
    clearTimeout(timer)
  }
}

class AttemptTimeout extends GatehouseError {
  readonly code = 'ETIMEDOUT'
}

/**
 * Resolves at the event. Destroys the socket and rejects if it fails or closes, or the signal aborts, before. Later errors
 * only destroy it: they may come before those who wait for the event have their turn.
 */
export const opened = (socket: Socket, event: string, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      signal.removeEventListener('abort', onAbort)
      socket.off(event, onOpen).off('close', onClose)
      if (error === undefined) return resolve()
      socket.destroy()
      reject(error)
    }
    const onOpen = () => settle()
    const onClose = () => settle(new ConnectionClosed())
    const onAbort = () => settle(new ConnectionClosed())
    socket.on(event, onOpen).on('close', onClose).on('error', settle)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })

/** The connection closed too early. */
export class ConnectionClosed extends GatehouseError {
  readonly code = 'ECONNRESET'
}
