// Serves gRPC on sockets from any source: health, drain and the connections' timer.

import type { Socket } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer, TLSSocket } from 'node:tls'
import { errorKind } from '../../kit/errors.js'
import type { Logger } from '../../kit/logger.js'
import type { Connection } from '../http2/connection.js'
import { methodsOf } from './call-head.js'
import { type Certificates, type TlsFiles, watchCertificates } from './certificates.js'
import { serveConnection } from './connection.js'
import { createHealth } from './health.js'
import { type MessageBudget, UNSHARED } from './message-budget.js'
import type { Peer } from './peer.js'
import type { GrpcService } from './service.js'

/** What sockets are served with. */
export interface ServingOptions {
  /** How its sockets are connected. */
  readonly type: Peer['type']
  /** Absent: plaintext. */
  readonly tls?: TlsFiles
  readonly services: readonly GrpcService[]
  readonly logger: Logger
  /** What the unfinished messages of all connections may hold. Absent: as much as the limits of connections allow. */
  readonly messages?: MessageBudget
  /** Within how many milliseconds a message must have arrived whole. Absent: 30 s. */
  readonly arrivalMs?: number | undefined
}

/** Lifecycle of a server, whatever the source of its connections. */
export interface Serving {
  /** Sets the health status of every service. Initially false. */
  setServing(serving: boolean): void
  /** Reports NOT_SERVING, accepts nothing new, waits for calls under way, then cuts off the rest. */
  drain(timeoutMs: number): Promise<void>
  /** Closes everything immediately. */
  close(): Promise<void>
}

/** Serves sockets that another part has accepted. */
export interface SocketServing extends Serving {
  /** Serves a socket from which nothing has been read yet. */
  accept(socket: Socket): void
}

/** How often connections check their timeouts. */
const TICK_MS = 1_000

/** Creates a server for given sockets. @throws {Error} the certificates cannot be used. */
export async function createServing(options: ServingOptions): Promise<SocketServing> {
  const { type, services, logger, tls, messages = UNSHARED, arrivalMs } = options
  const health = createHealth(services.map((service) => service.name))
  const methods = methodsOf([health.service, ...services])
  const connections = new Connections()
  const certificates = tls === undefined ? undefined : await watchCertificates(tls, logger)
  const onFault = (error: unknown): void =>
    logger.error({ error: errorKind(error) }, 'a call failed')
  const acceptor = createAcceptor({
    type,
    certificates,
    onConnection: (socket, peer) => {
      const connection = serveConnection(socket, { methods, peer, messages, arrivalMs, onFault })
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

/** The open connections. */
class Connections {
  readonly #open = new Set<Connection>()
  #onEmpty = (): void => {}
  #isDraining = false

  /** Adds a connection, and drains it if the handshake ended after the drain had begun. */
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

  /** Drains all connections. Resolves when the last one is closed. */
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

/** Returns false if the deadline passes before work is done. */
async function within(deadline: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, deadline - Date.now()))
  })
  const done = await Promise.race([work.then(() => true), timeout])
  clearTimeout(timer)
  return done
}

// Turns an accepted socket into a connection with a known peer, after the TLS handshake if there is one.

/** What an acceptor is created with. */
export interface AcceptorOptions {
  /** How its sockets are connected. */
  readonly type: Peer['type']
  /** Absent: plaintext. */
  readonly certificates: Certificates | undefined
  onConnection(socket: Socket, peer: Peer): void
}

/** Accepts sockets and performs TLS handshakes. */
export interface Acceptor {
  /** Accepts a socket from which nothing has been read yet. */
  accept(socket: Socket): void
  /** Destroys all sockets, including those in a handshake. */
  cutOff(): void
}

const HANDSHAKE_MS = 10_000

/** Creates an acceptor, with TLS if there are certificates. */
function createAcceptor(options: AcceptorOptions): Acceptor {
  const { type, certificates } = options
  const sockets = new Set<Socket>()
  const begin = (socket: Socket): void => {
    options.onConnection(socket, {
      type,
      address: socket.remoteAddress ?? '',
      hasCertificate: certificates?.asksClients === true && isVerified(socket),
    })
  }
  const secure = certificates && createSecureServer(certificates, begin)
  return {
    accept(socket) {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      if (secure === undefined) begin(socket)
      else secure.emit('connection', socket)
    },
    cutOff() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Whether the client has a verified certificate. Some versions of Node call each resumed session authorized. */
const isVerified = (socket: Socket): boolean =>
  socket instanceof TLSSocket && socket.authorized && socket.getPeerX509Certificate() !== undefined

/** Returns a TLS server that does not listen: sockets are passed to it. */
function createSecureServer(
  certificates: Certificates,
  accept: (socket: Socket) => void,
): TlsServer {
  const server = createTlsServer({
    ...certificates.contextOptions(),
    // HTTP/2 over TLS (RFC 9113, section 3.2).
    ALPNProtocols: ['h2'],
    requestCert: certificates.asksClients,
    rejectUnauthorized: certificates.requiresClients,
    handshakeTimeout: HANDSHAKE_MS,
  })
  certificates.onChange(() => server.setSecureContext(certificates.contextOptions()))
  server.on('secureConnection', (socket) => {
    if (socket.alpnProtocol === 'h2') accept(socket)
    else socket.destroy()
  })
  // Node has closed the connection.
  server.on('tlsClientError', () => {})
  return server
}
