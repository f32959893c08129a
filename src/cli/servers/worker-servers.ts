// Listens in the main process and hands the connections to workers, as the Servers that the app expects.

import type { WorkerPool } from '../../control/workers/worker-pool.js'
import type { Logger } from '../../kit/logger.js'
import { listen, type Listening } from '../../wire/grpc/listen.js'
import { MAX_CONNECTIONS, warnIfOpen } from '../../wire/grpc/server.js'
import type { GrpcListener, Servers } from './servers.js'

/** Rejects when an address cannot be bound or a worker cannot start; nothing is left bound then. */
export async function serveByWorkers(
  pool: WorkerPool,
  listeners: readonly GrpcListener[],
  logger: Logger,
  onRefused: () => void,
): Promise<Servers> {
  const listening: Listening[] = []
  const stopAccepting = (): void => {
    for (const one of listening) one.stopAccepting()
  }
  try {
    await pool.start(
      listeners.map(({ address, tls }) => ({ type: address.type, ...(tls && { tls }) })),
    )
    for (const [index, { address, tls, worker }] of listeners.entries()) {
      warnIfOpen(address, tls, logger)
      listening.push(
        await listen({
          address,
          logger,
          maxConnections: MAX_CONNECTIONS,
          paused: true,
          onRefused,
          onSocket: (socket) => pool.hand(index, socket, worker),
        }),
      )
    }
  } catch (error) {
    stopAccepting()
    await pool.close()
    throw error
  }
  return {
    addresses: listening.map(({ address }) => address),
    connections: () => pool.connections(),
    setServing: (serving) => pool.setServing(serving),
    drain(timeoutMs) {
      stopAccepting()
      return pool.drain(timeoutMs)
    },
    close() {
      stopAccepting()
      return pool.close()
    },
  }
}
