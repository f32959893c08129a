// A port on loopback: one that is free now, or a check that the wanted one is.

import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** wanted: 0 for any. Rejects with the system's error (EADDRINUSE, EACCES) when it cannot be had. */
export async function loopbackPort(wanted: number): Promise<number> {
  const server = createServer().listen(wanted, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
