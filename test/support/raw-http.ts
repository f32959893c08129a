// Bytes to a port, and what comes back: for requests that no HTTP client would send.

import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** The whole answer, as text; the request must make the server close the connection. */
export async function sendRaw(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(request)
  return text(socket)
}
