// A cursor over the bytes of a protobuf message that allocates no object per field: enter a message, ask for the next
// field, read or skip its value, leave. Every length is checked against the enclosing message. The BinaryReader of
// protobuf-es allocates an array per tag and a copy or view per value: it took 6.3 µs instead of 1.9 for a check with
// 23 headers.

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** A range of bytes; end is exclusive. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** A cursor over the bytes of a protobuf message. */
export class WireReader {
  /** Range of the value that span() has read. */
  from = 0
  to = 0

  #position = 0
  #wireType = VARINT

  /** End of the message that contains the cursor. */
  #end: number

  constructor(readonly buffer: Buffer) {
    this.#end = buffer.length
  }

  /** Begins to read a part of the buffer as a message. */
  open(range: Range): this {
    this.#position = range.start
    this.#end = range.end
    return this
  }

  /** Returns the number of the next field, 0 at the end of the message. @throws RangeError */
  next(): number {
    if (this.#position >= this.#end) return 0
    const tag = this.#varint()
    this.#wireType = tag & 7
    const field = tag >>> 3
    if (field === 0) throw new RangeError('field number 0')
    return field
  }

  /** Enters the current field's value as a message. Returns the argument for leave(). */
  enter(): number {
    const outer = this.#end
    const { end } = this.range()
    this.#end = end
    return outer
  }

  leave(outer: number): void {
    this.#position = this.#end
    this.#end = outer
  }

  /** Returns the range of the current field's value; the cursor stays at its start. */
  range(): Range {
    if (this.#wireType !== BYTES) throw new RangeError('not length-delimited')
    const length = this.#varint()
    const start = this.#position
    if (length > this.#end - start) throw new RangeError('beyond the end')
    return { start, end: start + length }
  }

  /** Like range(), but moves the cursor past the value. */
  takeRange(): Range {
    this.span()
    return { start: this.from, end: this.to }
  }

  /** Like takeRange(), but stores the range in from and to, valid until the next call. */
  span(): void {
    if (this.#wireType !== BYTES) throw new RangeError('not length-delimited')
    const length = this.#varint()
    const start = this.#position
    if (length > this.#end - start) throw new RangeError('beyond the end')
    this.from = start
    this.to = this.#position = start + length
  }

  /** Reads a string; invalid UTF-8 becomes U+FFFD. */
  text(): string {
    this.span()
    return this.buffer.toString('utf8', this.from, this.to)
  }

  /** Reads an unsigned number of at most 32 bits. */
  number(): number {
    if (this.#wireType !== VARINT) throw new RangeError('not a varint')
    return this.#varint()
  }

  skip(): void {
    if (this.#wireType === VARINT) this.#varint()
    else if (this.#wireType === BYTES) this.span()
    else if (this.#wireType === FIXED64) this.#advance(8)
    else if (this.#wireType === FIXED32) this.#advance(4)
    else throw new RangeError('groups are not read')
  }

  #advance(length: number): void {
    if (length > this.#end - this.#position) throw new RangeError('beyond the end')
    this.#position += length
  }

  /** Reads a varint of up to ten bytes and returns its low 32 bits. */
  #varint(): number {
    // Most varints have one byte.
    if (this.#position < this.#end) {
      const only = this.buffer[this.#position] as number
      if (only < 0x80) {
        this.#position += 1
        return only
      }
    }
    let value = 0
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.#position >= this.#end) throw new RangeError('beyond the end')
      const byte = this.buffer[this.#position++] ?? 0
      if (shift < 32) value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
    throw new RangeError('varint too long')
  }
}
