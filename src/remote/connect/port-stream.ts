// A stream of bytes between two threads, over a message port.

import { Duplex } from 'node:stream'
import type { MessagePort } from 'node:worker_threads'
import { GatehouseError } from '../../errors.js'

/** Bytes, the number of bytes that were read, the end of all bytes, or the code of the error that ended the stream. */
type PortMessage = Uint8Array<ArrayBuffer> | number | 'end' | { readonly code: string }

/** Bytes on their way or unread at the other end, from which on the writer waits. */
const MOST_UNREAD = 256 * 1024
/** Bytes whose reading is told at once: a message for each piece would double their number. */
const TOLD_BYTES = 32 * 1024

class PortError extends GatehouseError {
  constructor(readonly code: string) {
    super('the connection was closed')
  }
}

/** One end of a connection; the other is a PortStream over the other port. Destroying one destroys the other. */
export class PortStream extends Duplex {
  readonly #port: MessagePort
  #unread = 0
  #untold = 0
  #whenRead: (() => void) | undefined
  #hasEnd = false

  constructor(port: MessagePort) {
    super({ allowHalfOpen: false })
    this.#port = port
    port.on('message', (message: PortMessage) => this.#on(message))
    port.on('close', () => this.#onClose())
  }

  override _write(chunk: Uint8Array, _encoding: string, callback: () => void): void {
    this.#send([chunk], callback)
  }

  override _writev(chunks: readonly { readonly chunk: Uint8Array }[], callback: () => void): void {
    this.#send(
      chunks.map(({ chunk }) => chunk),
      callback,
    )
  }

  override _final(callback: () => void): void {
    this.#post('end')
    callback()
  }

  override _read(): void {
    if (this.#untold < TOLD_BYTES) return
    this.#post(this.#untold)
    this.#untold = 0
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    // A write that never ends would keep those behind it from failing.
    this.#whenRead?.()
    if (error !== null) this.#post({ code: codeIn(error) })
    this.#port.close()
    callback(error)
  }

  /** What is written until the next turn leaves as one message: a peer may send single bytes. */
  #send(chunks: readonly Uint8Array[], callback: () => void): void {
    const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const chunk of chunks) {
      bytes.set(chunk, at)
      at += chunk.length
    }
    this.#unread += bytes.length
    this.#port.postMessage(bytes, [bytes.buffer])
    const goOn = (): void => void setImmediate(callback)
    if (this.#unread < MOST_UNREAD) goOn()
    else this.#whenRead = goOn
  }

  #post(message: PortMessage): void {
    this.#port.postMessage(message)
  }

  #on(message: PortMessage): void {
    if (this.destroyed) return
    if (typeof message === 'number') this.#onRead(message)
    else if (message === 'end') this.#onEnd()
    else if (message instanceof Uint8Array) this.#onBytes(message)
    else this.destroy(new PortError(message.code))
  }

  #onRead(length: number): void {
    this.#unread -= length
    if (this.#unread >= MOST_UNREAD) return
    this.#whenRead?.()
    this.#whenRead = undefined
  }

  #onBytes(bytes: Uint8Array<ArrayBuffer>): void {
    this.#untold += bytes.length
    if (this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))) this._read()
  }

  #onEnd(): void {
    this.#hasEnd = true
    this.push(null)
  }

  /** What came before its end stays readable. */
  #onClose(): void {
    if (!this.#hasEnd) this.destroy(new PortError('ECONNRESET'))
  }
}

function codeIn(error: Error): string {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' ? code : 'ECONNRESET'
}
