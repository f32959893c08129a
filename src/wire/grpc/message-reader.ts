// Splits the content of a request into gRPC messages. A prefix of five bytes holds the compressed flag and the length.

import { type HeldMessages, TooManyUnfinished } from './message-budget.js'
import { GrpcError, Status } from './status.js'

/** Length of the prefix of a gRPC message. */
export const PREFIX_BYTES = 5
/** Maximum length of a message. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024
const MIN_CAPACITY = 256

/** Reads the messages of one call. */
export class MessageReader {
  readonly #held: HeldMessages
  #buffer: Buffer | undefined
  #from = 0
  #to = 0

  constructor(held: HeldMessages) {
    this.#held = held
  }

  /** Buffered bytes: an incomplete message, or messages not yet taken by next(). */
  get length(): number {
    return this.#to - this.#from
  }

  /** Appends a copy. @throws {GrpcError} the message is not supported, or too much is held. */
  push(bytes: Buffer): void {
    const buffer = this.#withRoom(bytes.length)
    bytes.copy(buffer, this.#to)
    this.#to += bytes.length
    endOfMessage(buffer, this.#from, this.#to)
  }

  /** Returns the next whole message, which nothing else refers to, or undefined. @throws {GrpcError} */
  next(): Buffer | undefined {
    if (this.#buffer === undefined) return undefined
    const end = endOfMessage(this.#buffer, this.#from, this.#to)
    if (end === undefined) return undefined
    const message = this.#taken(this.#buffer.subarray(this.#from + PREFIX_BYTES, end), end)
    this.#from = end
    if (this.#from === this.#to) this.clear()
    return message
  }

  /** A long message is often all that there is in the buffer, which is then not used again. */
  #taken(message: Buffer, end: number): Buffer {
    const isAll = end === this.#to && 2 * message.length >= (this.#buffer?.length ?? 0)
    return isAll ? message : Buffer.from(message)
  }

  clear(): void {
    if (this.#buffer !== undefined) this.#held.add(-this.#buffer.length)
    this.#buffer = undefined
    this.#from = 0
    this.#to = 0
  }

  /** Grows the buffer by doubling, not to the announced length, because the announced bytes may never arrive. */
  #withRoom(length: number): Buffer {
    if (this.#buffer !== undefined && this.#to + length <= this.#buffer.length) return this.#buffer
    const needed = this.length + length
    const capacity = Math.max(MIN_CAPACITY, needed, Math.min(2 * needed, 2 * this.length))
    const before = this.#buffer?.length ?? 0
    if (!this.#held.add(capacity - before)) throw new TooManyUnfinished()
    const buffer = Buffer.allocUnsafeSlow(capacity)
    this.#buffer?.copy(buffer, 0, this.#from, this.#to)
    this.#to = this.length
    this.#from = 0
    this.#buffer = buffer
    return buffer
  }
}

/** Returns the end of the message at from, or undefined if it is incomplete. @throws {GrpcError} */
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

/** Returns the prefix of a message of this length, in shared memory: write it before the next call. */
export function prefixOf({ length }: { readonly length: number }): Buffer {
  prefix.writeUInt32BE(length, 1)
  return prefix
}
