// Answers 503 to everything. Routes of a mesh lead here if ext_proc answers their requests or if they are sealed.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { CLOSED_HEADER } from '../../model/names.js'
import type { TcpAddress } from '../../ops/settings/values.js'

/** A bound server. */
export interface ClosedServer {
  close(): Promise<void>
}

const BODY = JSON.stringify({
  error: 'temporarily_unavailable',
  error_description: 'Nothing is served here',
})

/** Rejects with Node's error when the address cannot be bound. */
export async function startClosedServer({ host, port }: TcpAddress): Promise<ClosedServer> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(503, { 'content-type': 'application/json', [CLOSED_HEADER]: '1' }).end(BODY)
  })
  server.listen(port, host)
  await once(server, 'listening')
  return { close: () => close(server) }
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
