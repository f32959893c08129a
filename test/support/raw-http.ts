// Bytes to a port, and what comes back: for requests that no HTTP client would send.

import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** The whole answer, as text; the request must make the server close the connection. */
export async function sendRaw(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(request)
  return text(socket)
}

/** The first piece of the answer to a request of which more comes until it is there; '' if the server closes without one. */
export async function sendUntilAnswered(
  port: number,
  head: string,
  piece: string,
): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  // The server may well close while we still write.
  socket.on('error', () => undefined)
  let isOver = false
  const answer = new Promise<string>((resolve) => {
    socket.once('data', (bytes: Buffer) => resolve(bytes.toString()))
    socket.once('close', () => resolve(''))
  }).finally(() => (isOver = true))
  socket.write(head)
  while (!isOver) {
    if (!socket.write(piece))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), answer])
    // Writes that end at once would leave the loop no turn to read the answer in.
    await new Promise((resolve) => setImmediate(resolve))
  }
  socket.destroy()
  return answer
}
