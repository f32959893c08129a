// Address → accepted sockets, each with its peer: over TLS once it is known who that is.

import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
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

type OnConnection = (socket: Socket, peer: Peer) => void

const HANDSHAKE_MS = 10_000

/** certificates: absent, it is plaintext. @throws {Error} the address is taken, or cannot be bound. */
export async function listen(
  address: GrpcAddress,
  certificates: Certificates | undefined,
  onConnection: OnConnection,
): Promise<Listening> {
  const sockets = new Set<Socket>()
  const accept = (socket: Socket): void => {
    onConnection(socket, {
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
  const bound =
    address.type === 'unix' ? await bindPath(server, address) : await bind(server, address)
  return {
    address: bound,
    stopAccepting: () => void server.close(),
    cutOff: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
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
