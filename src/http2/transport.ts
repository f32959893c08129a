// What a connection of HTTP/2 needs of its socket, and that of a socket of Node.

import type { Socket } from 'node:net'

/** The byte stream below a connection. */
export interface Transport {
  /** Bytes that were written and have not left. */
  readonly pending: number
  write(bytes: Buffer): void
  /** Reads nothing until resume(). */
  pause(): void
  resume(): void
  /** After what was written has left; soon in any case. */
  close(): void
  /** At once. */
  destroy(): void
}

/** How long a peer may take to read the last bytes. */
const LINGER_MS = 1_000

/** Of one socket, before others have their turn: Node reads 2 MiB on end where that has come. */
const TURN_BYTES = 65_536

/** Transport over a Node socket. */
export class SocketTransport implements Transport {
  readonly #socket: Socket
  #isPaused = false
  #isResting = false
  #readOfTurn = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  get pending(): number {
    return this.#socket.writableLength
  }

  write(bytes: Buffer): void {
    this.#socket.write(bytes)
  }

  pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (!this.#isResting) this.#socket.resume()
  }

  /** So many bytes of the socket have been read. */
  onRead(length: number): void {
    this.#readOfTurn += length
    if (this.#readOfTurn < TURN_BYTES || this.#isResting) return
    this.#readOfTurn = 0
    this.#isResting = true
    this.#socket.pause()
    setImmediate(() => {
      this.#isResting = false
      if (!this.#isPaused) this.#socket.resume()
    })
  }

  close(): void {
    const socket = this.#socket
    this.#isPaused = false
    // What still comes is read and dropped: unread bytes would make the kernel reset the connection, and our last words be lost.
    socket.resume()
    socket.end()
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }

  destroy(): void {
    this.#socket.destroy()
  }
}
