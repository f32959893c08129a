// Sockets → calls of services: health, drain, and the clock of the connections. Where the sockets come from is not its affair.

import type { Socket } from 'node:net'
import { errorKind } from '../errors.js'
import type { Connection } from '../http2/connection.js'
import type { Logger } from '../logger.js'
import { createAcceptor } from './accept.js'
import { methodsOf } from './call-head.js'
import type { TlsFiles } from './certificates.js'
import { watchCertificates } from './certificates.js'
import { serveConnection } from './connection.js'
import { createHealth } from './health.js'
import type { Peer } from './peer.js'
import type { GrpcService } from './service.js'

export interface ServingOptions {
  /** How its sockets come. */
  readonly type: Peer['type']
  /** Absent: plaintext. */
  readonly tls?: TlsFiles
  readonly services: readonly GrpcService[]
  readonly logger: Logger
}

/** What a server does with its connections, however they came. */
export interface Serving {
  /** What health checks are told, of every service. true at the start. */
  setServing(serving: boolean): void
  /** Says NOT_SERVING, takes nothing new, waits for what is under way, then ends what is left. */
  drain(timeoutMs: number): Promise<void>
  /** At once. */
  close(): Promise<void>
}

export interface SocketServing extends Serving {
  /** Nothing may have been read of it. */
  accept(socket: Socket): void
}

/** How often connections look at the clock. */
const TICK_MS = 1_000

/** @throws {Error} the certificates cannot be used. */
export async function createServing(options: ServingOptions): Promise<SocketServing> {
  const { type, services, logger, tls } = options
  const health = createHealth(services.map((service) => service.name))
  const methods = methodsOf([health.service, ...services])
  const connections = new Connections()
  const certificates = tls === undefined ? undefined : await watchCertificates(tls, logger)
  const onFault = (error: unknown): void =>
    logger.error({ error: errorKind(error) }, 'a call failed')
  const acceptor = createAcceptor({
    ...{ type, certificates },
    onConnection: (socket, peer) => {
      const connection = serveConnection(socket, { methods, peer, onFault })
      connections.add(connection)
      socket.once('close', () => connections.delete(connection))
    },
  })
  const ticking = setInterval(() => connections.tick(), TICK_MS)
  ticking.unref()

  const stop = (): void => {
    clearInterval(ticking)
    acceptor.cutOff()
    certificates?.close()
  }
  return {
    accept: (socket) => acceptor.accept(socket),
    setServing: (serving) => health.setServing(serving),
    drain: async (timeoutMs) => {
      health.setServing(false)
      const closeHealth = (): void => health.close()
      await drain({ connections, services, closeHealth, timeoutMs, logger })
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
  readonly services: readonly GrpcService[]
  readonly closeHealth: () => void
  readonly timeoutMs: number
  readonly logger: Logger
}

async function drain(draining: Draining): Promise<void> {
  const { connections, services, closeHealth, timeoutMs, logger } = draining
  const deadline = Date.now() + timeoutMs
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
