// Listens on an address and hands over client sockets, up to a maximum number of connections.

import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { errorText } from '../../kit/errors.js'
import { createLogLimit } from '../../kit/log-limit.js'
import type { Logger } from '../../kit/logger.js'
import type { GrpcAddress } from './address.js'
import { clearStaleSocket, restrictSocket } from './address.js'

/** A bound address. */
export interface Listening {
  /** host:port, with the bound port, or unix:PATH. */
  readonly address: string
  /** Number of open connections that were not handed to another process. */
  connections(): number
  stopAccepting(): void
}

/** What to bind, and how many connections to accept. */
export interface ListenOptions {
  readonly address: GrpcAddress
  /** Maximum open connections, handshakes included; further ones are closed. */
  readonly maxConnections: number
  /** Whether sockets stay unread until resumed, because they go to another process. */
  readonly paused?: boolean
  /** Called for each connection beyond the maximum. */
  readonly onRefused?: (() => void) | undefined
  readonly logger: Logger
  onSocket(socket: Socket): void
}

/** Starts to listen. @throws {Error} the address is taken, or cannot be bound. */
export async function listen(options: ListenOptions): Promise<Listening> {
  const { address, maxConnections, paused = false, logger } = options
  let connections = 0
  const server = createServer({ noDelay: true, pauseOnConnect: paused }, (socket) => {
    connections += 1
    socket.once('close', () => (connections -= 1))
    options.onSocket(socket)
  })
  server.maxConnections = maxConnections
  const bound =
    address.type === 'unix' ? await bindPath(server, address) : await bind(server, address)
  logTrouble(server, bound, logger)
  server.on('drop', () => options.onRefused?.())
  return {
    address: bound,
    connections: () => connections,
    stopAccepting: () => void server.close(),
  }
}

/** Logs errors after the start: each concerns one connection and leaves the others alone. */
function logTrouble(server: Server, address: string, logger: Logger): void {
  const { maxConnections } = server
  const limit = createLogLimit(() => Date.now())
  const say = (message: string, fields: object): void => {
    const leftOut = limit.take(message)
    if (leftOut !== undefined) logger.warn({ address, ...fields, leftOut }, message)
  }
  server.on('error', (error) => say('a connection was not accepted', { reason: errorText(error) }))
  // Node has closed the connection.
  server.on('drop', () => say('a connection was refused: too many', { maxConnections }))
}

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

/** Returns HOST:PORT, with brackets around an IPv6 address. */
export const hostPort = (to: { readonly host: string; readonly port: number }): string =>
  `${to.host.includes(':') ? `[${to.host}]` : to.host}:${to.port}`
