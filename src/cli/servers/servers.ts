// Serves the gRPC services on several addresses and drains and closes them together.

import { authenticated, type Authenticator } from '../../wire/grpc/authenticated.js'
import { type GrpcServer, type GrpcServerOptions, startGrpcServer } from '../../wire/grpc/server.js'
import type { GrpcService } from '../../wire/grpc/service.js'

/** Address to listen on, and how its connections are served. */
export interface GrpcListener extends Pick<GrpcServerOptions, 'address' | 'tls'> {
  /** Number of the worker that takes its connections; absent: all workers do. */
  readonly worker?: number
}

/** gRPC servers on several addresses. */
export interface Servers {
  /** Addresses as bound, in the order given. */
  readonly addresses: readonly string[]
  /** Number of open connections. */
  connections(): number
  setServing(serving: boolean): void
  drain(timeoutMs: number): Promise<void>
  close(): Promise<void>
}

/** What the services of all listeners are served with. */
export interface ServedWith extends Pick<GrpcServerOptions, 'logger' | 'messages' | 'onRefused'> {
  /** Absent: each client that may connect is served. */
  readonly tokens: Authenticator | undefined
}

/** Returns the server of each listener, with all services. */
export function servedBy(
  services: readonly GrpcService[],
  listeners: readonly GrpcListener[],
  { tokens, ...options }: ServedWith,
): readonly GrpcServerOptions[] {
  const known = tokens ? services.map((each) => authenticated(each, tokens)) : services
  return listeners.map((listener) => ({ ...listener, services: known, ...options }))
}

/** Rejects when an address cannot be bound; none is left bound then. */
export async function startServers(servers: readonly GrpcServerOptions[]): Promise<Servers> {
  const started: GrpcServer[] = []
  const each = async (action: (server: GrpcServer) => Promise<void>): Promise<void> => {
    await Promise.all(started.map(action))
  }
  try {
    for (const options of servers) started.push(await startGrpcServer(options))
  } catch (error) {
    await each((server) => server.close())
    throw error
  }
  return {
    addresses: started.map(({ address }) => address),
    connections: () => started.reduce((sum, server) => sum + server.connections(), 0),
    setServing(serving) {
      for (const server of started) server.setServing(serving)
    },
    drain: (timeoutMs) => each((server) => server.drain(timeoutMs)),
    close: () => each((server) => server.close()),
  }
}
