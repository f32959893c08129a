// Collects bytes that arrive in pieces. Each Buffer takes about 100 bytes of its own, so a body in pieces of one byte would
// take a hundred times its size.

/** Size of the buffers that small pieces share. */
const ROOM = 16 * 1024
/** Minimum size of a piece with a buffer of its own. */
const LARGE = 4 * 1024

const NO_ROOM = Buffer.alloc(0)

/** Bytes that have arrived so far. */
export class ByteCollector {
  #size = 0
  #parts: Buffer[] = []
  #room = NO_ROOM
  /** The part of the room that is not in parts yet. */
  #start = 0
  #end = 0

  get size(): number {
    return this.#size
  }

  /** Copies the piece. */
  add(piece: Uint8Array): void {
    // Envoy often ends a body with an empty piece, which must not become a part.
    if (piece.length === 0) return
    const isFirst = this.#size === 0
    this.#size += piece.length
    // Most bodies are one piece.
    if (isFirst || piece.length >= LARGE) {
      this.#closePart()
      this.#parts.push(Buffer.from(piece))
      return
    }
    if (this.#end + piece.length > this.#room.length) {
      this.#closePart()
      this.#room = Buffer.allocUnsafeSlow(ROOM)
      this.#start = this.#end = 0
    }
    this.#room.set(piece, this.#end)
    this.#end += piece.length
  }

  /** Returns all bytes in order, in few parts, and forgets them. */
  take(): readonly Buffer[] {
    this.#closePart()
    const parts = this.#parts
    this.drop()
    return parts
  }

  drop(): void {
    this.#parts = []
    this.#room = NO_ROOM
    this.#start = this.#end = this.#size = 0
  }

  #closePart(): void {
    if (this.#end > this.#start) this.#parts.push(this.#room.subarray(this.#start, this.#end))
    this.#start = this.#end
  }
}

/** Joins parts. 10 MiB take 3 to 10 ms. */
export const joined = (parts: readonly Buffer[]): Buffer =>
  parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
