// A webhook that the test answers for, and calls to it.

import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { PooledCall } from '../../../../src/kit/http/webhook-call.js'
import type { RemoteTarget } from '../../../../src/model/remote-target.js'

const URL = 'http://guard.example/request'

/** A target that nothing listens at. */
export const NOWHERE: RemoteTarget = { url: URL, endpoints: { type: 'addresses', addresses: [] } }

export interface Webhook {
  readonly server: Server
  readonly target: RemoteTarget
  /** Answers to the calls that it got, in their order. */
  readonly waiting: ServerResponse[]
  readonly sockets: ReadonlySet<Socket>
  /** Number of connections ever made. */
  made(): number
}

export async function startWebhook(): Promise<Webhook> {
  const waiting: ServerResponse[] = []
  const sockets = new Set<Socket>()
  let made = 0
  const server = createServer((_request, response) => waiting.push(response))
  // It neither ends idle connections nor says when it would.
  server.keepAliveTimeout = 0
  server.on('connection', (socket) => {
    made += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const endpoints = { type: 'addresses', addresses: [{ ip: '127.0.0.1', port }] } as const
  return { server, target: { url: URL, endpoints }, waiting, sockets, made: () => made }
}

/** A call to a webhook. */
export const callTo = (target: RemoteTarget, changes: Partial<PooledCall> = {}): PooledCall => ({
  backend: 'guard',
  target,
  maxConnections: 100,
  keepAliveSeconds: 300,
  phase: 'request',
  method: 'POST',
  path: '/request',
  headers: { host: 'guard.example' },
  body: new Uint8Array([1]),
  maxBytes: 1000,
  signal: new AbortController().signal,
  ...changes,
})
