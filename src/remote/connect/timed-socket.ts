// A TCP socket that notices when what reads from it takes long for one piece of bytes.

import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** Passes the bytes of a socket on, and measures how long their reader takes. */
export class TimedSocket extends Duplex {
  readonly #socket: Socket
  /** Called with the milliseconds that the reader took for the bytes of one read. */
  onRead: (ms: number) => void = () => undefined

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    socket.on('data', (bytes) => {
      const begun = performance.now()
      if (!this.push(bytes)) socket.pause()
      this.onRead(performance.now() - begun)
    })
    socket.on('end', () => this.push(null))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => {
      // What came before its end is still read.
      if (!socket.readableEnded) this.destroy()
    })
    socket.pause()
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Uint8Array, _encoding: string, callback: (error?: Error | null) => void) {
    this.#socket.write(chunk, callback)
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy()
    callback(error)
  }
}
