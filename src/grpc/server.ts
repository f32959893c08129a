// One gRPC server for all services: binds, serves, drains.

import type { Socket } from 'node:net'
import { errorKind } from '../errors.js'
import type { Connection } from '../http2/connection.js'
import type { Logger } from '../logger.js'
import type { GrpcAddress } from './address.js'
import { isLocalHost } from './address.js'
import { methodsOf } from './call-head.js'
import type { TlsFiles } from './certificates.js'
import { watchCertificates } from './certificates.js'
import { serveConnection } from './connection.js'
import { createHealth } from './health.js'
import type { Listening } from './listen.js'
import { hostPort, listen } from './listen.js'
import type { Peer } from './peer.js'
import type { GrpcService } from './service.js'

export interface GrpcServerOptions {
  readonly address: GrpcAddress
  /** Absent: plaintext. */
  readonly tls?: TlsFiles
  readonly services: readonly GrpcService[]
  readonly logger: Logger
}

export interface GrpcServer {
  /** host:port, with the port that was bound, or unix:PATH. */
  readonly address: string
  /** What health checks are told, of every service. true at the start. */
  setServing(serving: boolean): void
  /** Says NOT_SERVING, takes nothing new, waits for what is under way, then ends what is left. */
  drain(timeoutMs: number): Promise<void>
  /** At once. */
  close(): Promise<void>
}

/** Of all peers together. An Envoy opens one for each of its threads and clusters. */
const MAX_CONNECTIONS = 4_096

/** How often connections look at the clock. */
const TICK_MS = 1_000

/** @throws {Error} the address is taken, or the certificates cannot be used. */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { address, services, logger, tls } = options
  const health = createHealth(services.map((service) => service.name))
  const methods = methodsOf([health.service, ...services])
  const connections = new Connections()

  warnIfOpen(address, tls, logger)
  const certificates = tls === undefined ? undefined : await watchCertificates(tls, logger)
  const onFault = (error: unknown): void =>
    logger.error({ error: errorKind(error) }, 'a call failed')
  const onConnection = (socket: Socket, peer: Peer): void => {
    const connection = serveConnection(socket, { methods, peer, onFault })
    connections.add(connection)
    socket.once('close', () => connections.delete(connection))
  }
  const listening = await listen({
    address,
    certificates,
    maxConnections: MAX_CONNECTIONS,
    logger,
    onConnection,
  }).catch((error: unknown) => {
    certificates?.close()
    throw error
  })
  const ticking = setInterval(() => connections.tick(), TICK_MS)
  ticking.unref()

  const stop = (): void => {
    clearInterval(ticking)
    listening.stopAccepting()
    listening.cutOff()
    certificates?.close()
  }
  return {
    address: listening.address,
    setServing: (serving) => health.setServing(serving),
    drain: async (timeoutMs) => {
      health.setServing(false)
      const closeHealth = (): void => health.close()
      await drain({ connections, listening, services, closeHealth, timeoutMs, logger })
      stop()
    },
    close: () => {
      health.close()
      stop()
      return Promise.resolve()
    },
  }
}

/** Those that are open. */
class Connections {
  readonly #open = new Set<Connection>()
  #onEmpty = (): void => {}
  #isDraining = false

  /** One whose handshake ended after the drain had begun is drained as well. */
  add(connection: Connection): void {
    this.#open.add(connection)
    if (this.#isDraining) connection.drain()
  }

  delete(connection: Connection): void {
    this.#open.delete(connection)
    if (this.#open.size === 0) this.#onEmpty()
  }

  tick(): void {
    for (const connection of this.#open) connection.tick()
  }

  /** Resolves when the last one is closed. */
  drain(): Promise<void> {
    this.#isDraining = true
    return new Promise((resolve) => {
      this.#onEmpty = resolve
      if (this.#open.size === 0) resolve()
      for (const connection of this.#open) connection.drain()
    })
  }
}

interface Draining {
  readonly connections: Connections
  readonly listening: Listening
  readonly services: readonly GrpcService[]
  readonly closeHealth: () => void
  readonly timeoutMs: number
  readonly logger: Logger
}

async function drain(draining: Draining): Promise<void> {
  const { connections, listening, services, closeHealth, timeoutMs, logger } = draining
  const deadline = Date.now() + timeoutMs
  listening.stopAccepting()
  const drained = connections.drain()
  for (const service of services) {
    await within(deadline, Promise.resolve(service.drain?.(Math.max(0, deadline - Date.now()))))
  }
  closeHealth()
  if (!(await within(deadline, drained))) logger.warn({ timeoutMs }, 'calls cut off at shutdown')
}

/** false: the time is up. */
async function within(deadline: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, deadline - Date.now()))
  })
  const done = await Promise.race([work.then(() => true), timeout])
  clearTimeout(timer)
  return done
}

function warnIfOpen(address: GrpcAddress, tls: TlsFiles | undefined, logger: Logger): void {
  if (address.type === 'unix' || isLocalHost(address.host) || tls?.clientCa !== undefined) return
  logger.warn(
    { address: hostPort(address) },
    'anyone who can reach this address can ask for decisions and read configuration: ' +
      'set --grpc-tls-cert, --grpc-tls-key and --grpc-client-ca',
  )
}
