// The byte stream below an HTTP/2 connection, and its implementation over a Node socket.

import type { Socket } from 'node:net'

/** The byte stream below a connection. */
export interface Transport {
  /** Bytes that were written and not yet sent. */
  readonly pending: number
  /** Sends the pieces, in one call of the system where it can. */
  write(pieces: readonly Buffer[]): void
  /** Stops reading until resume(). */
  pause(): void
  resume(): void
  /** Closes when everything written has been sent, or after a short time at the latest. */
  close(): void
  /** Closes immediately. */
  destroy(): void
}

/** Longest time that a peer may take to read the last bytes, in milliseconds. */
const LINGER_MS = 1_000

/** Bytes read from one socket before others have their turn: Node reads up to 2 MiB in a row if it can. */
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

  write(pieces: readonly Buffer[]): void {
    const socket = this.#socket
    if (pieces.length > 1) socket.cork()
    for (const piece of pieces) socket.write(piece)
    if (pieces.length > 1) socket.uncork()
  }

  pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (!this.#isResting) this.#socket.resume()
  }

  /** Called when length bytes have been read from the socket. */
  onRead(length: number): void {
    this.#readOfTurn += length
    if (this.#readOfTurn < TURN_BYTES || this.#isResting) return
    this.#readOfTurn = 0
    this.rest()
    setImmediate(() => this.goOn())
  }

  /** Stops reading until goOn(). */
  rest(): void {
    this.#isResting = true
    this.#socket.pause()
  }

  goOn(): void {
    this.#isResting = false
    if (!this.#isPaused) this.#socket.resume()
  }

  close(): void {
    const socket = this.#socket
    this.#isPaused = false
    // Later bytes are read and dropped: unread bytes make the kernel reset the connection and lose the last frames.
    socket.resume()
    socket.end()
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }

  destroy(): void {
    this.#socket.destroy()
  }
}
