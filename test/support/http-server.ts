// A plain or TLS HTTP server for tests, on loopback by default.

import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'

export interface HttpServer {
  readonly origin: string
  readonly host: string
  readonly port: number
  /** Number of open connections, including idle ones. */
  connections(): Promise<number>
  /** Stops the server and breaks open connections; a second call does nothing. */
  close(): Promise<void>
}

export interface HttpServerOptions {
  readonly port?: number
  /** An address of this machine; absent: 127.0.0.1. */
  readonly host?: string
  /** PEM. */
  readonly tls?: {
    readonly key: string
    readonly cert: string
    /** The authority that certificates of clients need; absent: clients need none. */
    readonly clients?: string
    readonly maxVersion?: 'TLSv1.2'
    /** In OpenSSL's words; absent: Node's. */
    readonly ciphers?: string
  }
}

export async function startHttpServer(
  listener: RequestListener,
  { port = 0, host = '127.0.0.1', tls }: HttpServerOptions = {},
): Promise<HttpServer> {
  const server =
    tls === undefined ? createServer(listener) : createTlsServer(secured(tls), listener)
  // Node would close idle connections after 5 s, and Envoy answer 503 where it uses one at that moment.
  server.keepAliveTimeout = 0
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  return {
    origin: `${tls === undefined ? 'http' : 'https'}://${host}:${String(address.port)}`,
    host,
    port: address.port,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    close: async () => {
      if (!server.listening) return
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const secured = ({ clients, ...own }: NonNullable<HttpServerOptions['tls']>): ServerOptions =>
  clients === undefined ? own : { ...own, ca: clients, requestCert: true, rejectUnauthorized: true }
