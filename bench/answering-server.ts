// A backend that answers every request immediately.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface AnsweringServer {
  /** Port on loopback. */
  readonly port: number
  close(): void
}

export async function startAnsweringServer(): Promise<AnsweringServer> {
  const server = createServer((_, response) => response.end('here\n'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
