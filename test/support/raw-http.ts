// Sends raw bytes to a port and returns the answer, for requests that no HTTP client would send.

import { connect } from 'node:net'
import { text } from 'node:stream/consumers'

/** Returns the whole answer as text. The request must make the server close the connection. */
export async function sendRaw(port: number, request: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(request)
  return text(socket)
}

/**
 * Keeps sending more of a request until an answer arrives. Returns the answer's first piece; '' if the server closes
 * without one.
 */
export async function sendUntilAnswered(
  port: number,
  head: string,
  piece: string,
): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  // The server may close the connection during a write.
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
    // Writes that complete immediately would leave the event loop no turn to read the answer.
    await new Promise((resolve) => setImmediate(resolve))
  }
  socket.destroy()
  return answer
}
