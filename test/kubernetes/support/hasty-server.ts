// An API server that ends each watch after a second, without an error: as one may that is about to be replaced.

import { once } from 'node:events'
import { createServer, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { ADDRESS, type ApiServer } from '../../../testing/api-server.js'
import { selfSigned } from '../../support/certificates.js'

export interface HastyServer {
  readonly port: number
  close(): void
}

/** Starts one in front of the API server, at the same address. */
export async function startHastyServer({ port }: ApiServer): Promise<HastyServer> {
  const server = createServer(selfSigned(ADDRESS), (call, answer) => {
    const path = call.url?.replace(/\btimeoutSeconds=\d+/, 'timeoutSeconds=1')
    const { method, headers } = call
    const inner = request(
      { host: ADDRESS, port, path, method, headers, rejectUnauthorized: false },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers)
        response.pipe(answer)
      },
    )
    inner.on('error', () => answer.destroy())
    answer.on('close', () => inner.destroy())
    call.pipe(inner)
  })
  await once(server.listen(0, ADDRESS), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
