// Address → accepted sockets, each with its peer: over TLS once it is known who that is.

import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
import { errorText } from '../errors.js'
import { createLogLimit } from '../log-limit.js'
import type { Logger } from '../logger.js'
import type { GrpcAddress } from './address.js'
import { clearStaleSocket, restrictSocket } from './address.js'
import type { Certificates } from './certificates.js'
import type { Peer } from './peer.js'

export interface Listening {
  /** host:port, with the port that was bound, or unix:PATH. */
  readonly address: string
  stopAccepting(): void
  cutOff(): void
}

export interface ListenOptions {
  readonly address: GrpcAddress
  /** Absent: plaintext. */
  readonly certificates: Certificates | undefined
  /** At once, handshakes included; what is beyond is closed. */
  readonly maxConnections: number
  readonly logger: Logger
  onConnection(socket: Socket, peer: Peer): void
}

const HANDSHAKE_MS = 10_000

/** @throws {Error} the address is taken, or cannot be bound. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { address, certificates, maxConnections, logger } = options
  const sockets = new Set<Socket>()
  const accept = (socket: Socket): void => {
    options.onConnection(socket, {
      type: address.type,
      address: socket.remoteAddress ?? '',
      hasCertificate:
        certificates?.requiresClients === true && socket instanceof TLSSocket && socket.authorized,
    })
  }
  const server =
    certificates === undefined
      ? createServer({ noDelay: true }, accept)
      : createSecureServer(certificates, accept)
  // Those whose handshake is under way as well.
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.maxConnections = maxConnections
  const bound =
    address.type === 'unix' ? await bindPath(server, address) : await bind(server, address)
  logTrouble(server, bound, logger)
  return {
    address: bound,
    stopAccepting: () => void server.close(),
    cutOff: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** What goes wrong from now on concerns one connection each: the others live on. */
function logTrouble(server: Server, address: string, logger: Logger): void {
  const { maxConnections } = server
  const limit = createLogLimit(() => Date.now())
  const say = (message: string, fields: object): void => {
    const leftOut = limit.take(message)
    if (leftOut !== undefined) logger.warn({ address, ...fields, leftOut }, message)
  }
  server.on('error', (error) => say('a connection was not accepted', { reason: errorText(error) }))
  // Node has closed it.
  server.on('drop', () => say('a connection was refused: too many', { maxConnections }))
}

function createSecureServer(certificates: Certificates, accept: OnSocket): Server {
  const server = createTlsServer({
    ...certificates.contextOptions(),
    noDelay: true,
    // RFC 9113, section 3.2.
    ALPNProtocols: ['h2'],
    requestCert: certificates.requiresClients,
    rejectUnauthorized: certificates.requiresClients,
    handshakeTimeout: HANDSHAKE_MS,
  })
  certificates.onChange(() => server.setSecureContext(certificates.contextOptions()))
  server.on('secureConnection', (socket) => {
    if (socket.alpnProtocol === 'h2') accept(socket)
    else socket.destroy()
  })
  // Node has closed the connection; there is nobody to tell.
  server.on('tlsClientError', () => {})
  return server
}

type OnSocket = (socket: Socket) => void

async function bindPath(server: Server, { path }: { readonly path: string }): Promise<string> {
  await clearStaleSocket(path)
  await listening(server, () => server.listen({ path }))
  await restrictSocket(path)
  return `unix:${path}`
}

async function bind(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> {
  await listening(server, () => server.listen({ host, port }))
  return hostPort({ host, port: (server.address() as AddressInfo).port })
}

const listening = (server: Server, begin: () => void): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('listening', () => {
      server.off('error', reject)
      resolve()
    })
    begin()
  })

export const hostPort = (to: { readonly host: string; readonly port: number }): string =>
  `${to.host.includes(':') ? `[${to.host}]` : to.host}:${to.port}`
