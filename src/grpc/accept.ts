// Turns an accepted socket into a connection with a known peer, after the TLS handshake if there is one.

import type { Socket } from 'node:net'
import type { Server as TlsServer } from 'node:tls'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
import type { Certificates } from './certificates.js'
import type { Peer } from './peer.js'

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
export function createAcceptor(options: AcceptorOptions): Acceptor {
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
