// Finds free ports.

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

const LOOPBACK = '127.0.0.1'

/** Returns the wanted port; 0: any. Rejects with the system's error (EADDRINUSE, EACCES) when it is not available. */
export async function thePort(wanted: number, host = LOOPBACK): Promise<number> {
  const server = createServer().listen(wanted, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Returns the wanted port on loopback if it is free, else any. */
export const aPort = (wanted: number): Promise<number> => thePort(wanted).catch(() => thePort(0))
