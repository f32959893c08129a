// Reads plain sockets into one buffer that all of them share: Node would otherwise allocate 64 KiB for each read, which
// costs more than reading the short answer of a webhook.

import type { OnReadOpts } from 'node:net'

/** As much as Node reads at once. */
const BUFFER_BYTES = 64 * 1024

/** The bytes of one socket, passed on as they are read. */
export class ReadBuffer {
  static readonly #shared = Buffer.allocUnsafeSlow(BUFFER_BYTES)

  #receiver: ((bytes: Buffer) => void) | undefined
  #hasDropped = false

  /** The option of net.connect(). */
  readonly onread: OnReadOpts = {
    buffer: ReadBuffer.#shared,
    callback: (length) => this.#pass(length),
  }

  /** Whether bytes came before there was a receiver; nothing is read after them. */
  get hasDropped(): boolean {
    return this.#hasDropped
  }

  /** receiver: gets the bytes of each read, which are valid only until it returns. */
  passTo(receiver: (bytes: Buffer) => void): void {
    this.#receiver = receiver
  }

  #pass(length: number): boolean {
    if (this.#receiver === undefined) {
      this.#hasDropped = true
      return false
    }
    this.#receiver(ReadBuffer.#shared.subarray(0, length))
    return true
  }
}
