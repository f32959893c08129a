// A stream of bytes between two threads, over a message port.

import { Duplex } from 'node:stream'
import type { MessagePort } from 'node:worker_threads'
import { GatehouseError } from '../../errors.js'
import { codeOf } from './remote-failure.js'

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
  /** Number of bytes that have come from the other end. */
  bytesRead = 0
  readonly #port: MessagePort
  #unread = 0
  #untold = 0
  /** What waits for the reader, possibly nothing. */
  #rest: Uint8Array | undefined
  #whenWritten: (() => void) | undefined
  #hasEnd = false
  /**
   * What was written in this turn, which leaves as one message: a peer may send single bytes, and the reader must see in one
   * turn what came in one.
   */
  #pending: Uint8Array[] = []
  readonly #flush = (): void => {
    const bytes = joined(this.#pending)
    this.#pending = []
    if (bytes.length > 0) this.#port.postMessage(bytes, [bytes.buffer])
  }

  constructor(port: MessagePort) {
    super({ allowHalfOpen: false })
    this.#port = port
    port.on('message', (message: PortMessage) => this.#on(message))
    port.on('close', () => this.#onClose())
  }

  override _write(chunk: Uint8Array, _encoding: string, callback: () => void): void {
    this.#whenWritten = callback
    this.#offer(chunk)
  }

  override _final(callback: () => void): void {
    this.#flush()
    this.#post('end')
    callback()
  }

  override _read(): void {
    if (this.#untold < TOLD_BYTES) return
    this.#post(this.#untold)
    this.#untold = 0
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#rest = undefined
    // A write that never ends would keep those behind it from failing.
    this.#written()
    this.#flush()
    if (error !== null) this.#post({ code: codeOf(error) })
    this.#port.close()
    callback(error)
  }

  /** Sends what there is room for. */
  #offer(bytes: Uint8Array): void {
    const room = Math.max(0, MOST_UNREAD - this.#unread)
    this.#send(bytes.subarray(0, room))
    if (bytes.length < room) this.#written()
    else this.#rest = bytes.subarray(room)
  }

  /** The next write may come before the callback returns. */
  #written(): void {
    const callback = this.#whenWritten
    this.#whenWritten = undefined
    callback?.()
  }

  #send(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    if (this.#pending.length === 0) setImmediate(this.#flush)
    this.#pending.push(bytes)
    this.#unread += bytes.length
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
    const rest = this.#rest
    this.#rest = undefined
    if (rest !== undefined) this.#offer(rest)
  }

  #onBytes(bytes: Uint8Array<ArrayBuffer>): void {
    this.bytesRead += bytes.length
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

/** Copies, as the memory of a message moves to the other thread. */
function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
