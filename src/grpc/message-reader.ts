// Content of a request → messages of gRPC: each has five bytes before it, whether it is compressed and how long it is.

import { GrpcError, Status } from './status.js'

export const PREFIX_BYTES = 5
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024
/** Of all messages of a connection that have begun and not ended: some thousand of 64 KiB, in buffers of up to twice that. */
const MAX_HELD_BYTES = 256 * 1024 * 1024
const MIN_CAPACITY = 256

/** What the unfinished messages of one connection hold. */
export interface Held {
  bytes: number
}

export class MessageReader {
  readonly #held: Held
  #buffer: Buffer | undefined
  #from = 0
  #to = 0

  constructor(held: Held) {
    this.#held = held
  }

  /** Bytes that are no whole message yet, or one that was not asked for. */
  get length(): number {
    return this.#to - this.#from
  }

  /** Copies them. @throws {GrpcError} the message is none that we take, or more than a connection may hold. */
  push(bytes: Buffer): void {
    const buffer = this.#withRoom(bytes.length)
    bytes.copy(buffer, this.#to)
    this.#to += bytes.length
    endOfMessage(buffer, this.#from, this.#to)
  }

  /** The next whole message, in memory of its own. @throws {GrpcError} */
  next(): Buffer | undefined {
    if (this.#buffer === undefined) return undefined
    const end = endOfMessage(this.#buffer, this.#from, this.#to)
    if (end === undefined) return undefined
    const message = Buffer.from(this.#buffer.subarray(this.#from + PREFIX_BYTES, end))
    this.#from = end
    if (this.#from === this.#to) this.clear()
    return message
  }

  clear(): void {
    this.#held.bytes -= this.#buffer?.length ?? 0
    this.#buffer = undefined
    this.#from = 0
    this.#to = 0
  }

  /** Twice as large each time: what a prefix announces may never come. */
  #withRoom(length: number): Buffer {
    if (this.#buffer !== undefined && this.#to + length <= this.#buffer.length) return this.#buffer
    const needed = this.length + length
    const capacity = Math.max(MIN_CAPACITY, needed, Math.min(2 * needed, 2 * this.length))
    const before = this.#buffer?.length ?? 0
    if (this.#held.bytes + capacity - before > MAX_HELD_BYTES)
      throw new GrpcError(Status.RESOURCE_EXHAUSTED, 'too many messages at once')
    const buffer = Buffer.allocUnsafeSlow(capacity)
    this.#buffer?.copy(buffer, 0, this.#from, this.#to)
    this.#to = this.length
    this.#from = 0
    this.#held.bytes += capacity - before
    this.#buffer = buffer
    return buffer
  }
}

/** undefined: it is not whole. @throws {GrpcError} */
export function endOfMessage(buffer: Buffer, from: number, to: number): number | undefined {
  if (to - from < PREFIX_BYTES) return undefined
  const compressed = buffer[from]
  if (compressed === 1) throw new GrpcError(Status.UNIMPLEMENTED, 'compression is not supported')
  if (compressed !== 0) throw new GrpcError(Status.INTERNAL, 'a message without its prefix')
  const length = buffer.readUInt32BE(from + 1)
  if (length > MAX_MESSAGE_BYTES)
    throw new GrpcError(Status.RESOURCE_EXHAUSTED, `a message of ${length} bytes`)
  const end = from + PREFIX_BYTES + length
  return end <= to ? end : undefined
}

const prefix = Buffer.alloc(PREFIX_BYTES)

/** What stands before a message of this length; the same memory each time, to be written at once. */
export function prefixOf({ length }: { readonly length: number }): Buffer {
  prefix.writeUInt32BE(length, 1)
  return prefix
}
