// Starts servers that are closed after each test, and makes calls to them.

import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach } from 'vitest'
import type { Lookup } from '../../../../src/kit/http/connect/resolve.js'
import {
  type CallRemote,
  createCallRemote,
  type RemoteRequest,
  systemLookup,
} from '../../../../src/kit/http/http-call.js'
import type { RemoteTarget } from '../../../../src/model/remote-target.js'
import { type HttpServerOptions, startHttpServer } from '../../../support/http-server.js'
import { connectTls, tlsLanes } from '../../../support/tls.js'

/** Functions that close what a test has opened; closing.pop() closes the last one early. */
export const closing: (() => Promise<unknown>)[] = []

/** Closes what each test of the calling file has opened. */
export function closeAfterEach(): void {
  afterEach(async () => {
    await Promise.all(closing.splice(0).map((close) => close()))
  })
}

export async function serve(listener: RequestListener, options: HttpServerOptions = {}) {
  const server = await startHttpServer(listener, options)
  closing.push(() => server.close())
  return server.port
}

/** A server of raw bytes. */
export async function serveRaw(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  return (server.address() as AddressInfo).port
}

/** A target that connects to this port of loopback. */
export const at = (port: number, more: Partial<RemoteTarget> = {}): RemoteTarget => ({
  url: 'http://idp.example/keys?a=b',
  endpoints: { type: 'addresses', addresses: [{ ip: '127.0.0.1', port }] },
  ...more,
})

/** systemBundle: the file that stands for the system's authorities. */
export const callerWith = (lookup: Lookup, systemBundle?: string): CallRemote =>
  createCallRemote({
    lookup,
    connectTls: systemBundle === undefined ? connectTls : tlsLanes(systemBundle).usual,
  })

export const callRemote = callerWith(systemLookup)

export const get = (target: RemoteTarget, more: Partial<RemoteRequest> = {}) =>
  callRemote(target, { method: 'GET', ...more })

/** undefined: the call did not fail. */
export async function failureOf(target: RemoteTarget, more: Partial<RemoteRequest> = {}) {
  const result = await get(target, more)
  return result.ok ? undefined : result.error
}
