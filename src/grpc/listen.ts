// Address → accepted sockets. Ours rather than grpc-js's own, which cannot cut connections off
// at shutdown while its channelz is disabled (and channelz costs time on every message).

import { createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { clearStaleSocket, restrictSocket } from './address.js'
import type { GrpcAddress } from './address.js'

export interface Listening {
  /** host:port, with the port that was bound, or unix:PATH. */
  readonly address: string
  stopAccepting(): void
  /** Resolves when no connection is open; new ones are not waited for. */
  allClosed(): Promise<unknown>
  cutOff(): void
}

/** @throws {Error} the address is taken, or cannot be bound. */
export const listen = async (
  address: GrpcAddress,
  onConnection: (socket: Socket) => void,
): Promise<Listening> => {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    onConnection(socket)
  })
  const bound =
    address.type === 'unix' ? await bindPath(server, address) : await bind(server, address)
  return {
    address: bound,
    stopAccepting: () => void server.close(),
    allClosed: () =>
      Promise.all(
        [...sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
      ),
    cutOff: () => {
      for (const socket of sockets) socket.destroy()
    },
  }
}

const bindPath = async (server: Server, { path }: { readonly path: string }): Promise<string> => {
  await clearStaleSocket(path)
  await listening(server, () => server.listen({ path }))
  await restrictSocket(path)
  return `unix:${path}`
}

const bind = async (
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<string> => {
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
