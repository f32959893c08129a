// A TCP proxy that acts like a Service to its clients, and like a network that can fail.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Target {
  readonly host: string
  readonly port: number
}

export interface TcpProxy {
  readonly port: number
  /** Sets the targets of new connections, used in turn; without any, connections are refused. */
  lead(...targets: readonly Target[]): void
  /** Stops forwarding on all connections, old and new, and leaves them open. */
  hang(): void
  /** Stops forwarding on existing connections and leaves them open; new ones work normally. */
  freeze(): void
  /** Breaks every connection. */
  cut(): void
  close(): Promise<void>
}

/** @param host the address to listen at. */
export async function startTcpProxy(host: string, ...first: readonly Target[]): Promise<TcpProxy> {
  let targets = first
  let turn = 0
  let hangs = false
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    if (hangs) return sockets.add(client.on('error', () => client.destroy()))
    const target = targets[turn++ % Math.max(1, targets.length)]
    if (target === undefined) return client.destroy()
    const upstream = connect(target)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    return undefined
  })
  server.listen(0, host)
  await once(server, 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    lead: (...next) => (targets = next),
    hang: () => {
      hangs = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause()
    },
    cut,
    close: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
