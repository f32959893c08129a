// One gRPC server for all services: binds an address and serves its connections.

import type { Logger } from '../../kit/logger.js'
import type { GrpcAddress } from './address.js'
import { isLocalHost } from './address.js'
import type { TlsFiles } from './certificates.js'
import { hostPort, listen } from './listen.js'
import type { MessageBudget } from './message-budget.js'
import type { GrpcService } from './service.js'
import type { Serving } from './serving.js'
import { createServing } from './serving.js'

/** What a gRPC server is created with. */
export interface GrpcServerOptions {
  readonly address: GrpcAddress
  /** Absent: plaintext. */
  readonly tls?: TlsFiles
  readonly services: readonly GrpcService[]
  readonly logger: Logger
  /** What the unfinished messages of all connections may hold. Absent: as much as the limits of connections allow. */
  readonly messages?: MessageBudget
  /** Within how many milliseconds a message must have arrived whole. Absent: 30 s. */
  readonly arrivalMs?: number
  /** Called for each connection beyond MAX_CONNECTIONS. */
  readonly onRefused?: () => void
}

/** A gRPC server on a bound address. */
export interface GrpcServer extends Serving {
  /** host:port, with the bound port, or unix:PATH. */
  readonly address: string
  /** Number of open connections. */
  connections(): number
}

/** Maximum connections of all peers together. An Envoy opens one for each of its threads and clusters. */
export const MAX_CONNECTIONS = 4_096

/** Starts a server. @throws {Error} the address is taken, or the certificates cannot be used. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { address, services, logger, tls, messages, arrivalMs, onRefused } = options
  warnIfOpen(address, tls, logger)
  const more = { ...(tls && { tls }), ...(messages && { messages }) }
  const serving = await createServing({ type: address.type, services, logger, arrivalMs, ...more })
  const listening = await listen({
    address,
    maxConnections: MAX_CONNECTIONS,
    logger,
    onRefused,
    onSocket: (socket) => serving.accept(socket),
  }).catch(async (error: unknown) => {
    await serving.close()
    throw error
  })
  return {
    address: listening.address,
    connections: () => listening.connections(),
    setServing: (now) => serving.setServing(now),
    drain: (timeoutMs) => {
      listening.stopAccepting()
      return serving.drain(timeoutMs)
    },
    close: () => {
      listening.stopAccepting()
      return serving.close()
    },
  }
}

/** Warns if anyone who can reach the address may call the services. */
export function warnIfOpen(address: GrpcAddress, tls: TlsFiles | undefined, logger: Logger): void {
  const knowsClients = tls?.clientCa !== undefined || tls?.acceptsTokens === true
  if (address.type === 'unix' || isLocalHost(address.host) || knowsClients) return
  logger.warn(
    { address: hostPort(address) },
    'anyone who can reach this address can ask for decisions and read configuration: ' +
      'set --grpc-tls-cert, --grpc-tls-key and --grpc-client-ca',
  )
}
