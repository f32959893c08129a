// Writes a protobuf message from its end to its start into one buffer, because the length of a part is then known when
// its prefix is written. Fields are written last first, and the value of a part before its prefix.

const FIRST_SIZE = 64 * 1024
/** Maximum size of a 32-bit varint. */
const MAX_VARINT = 5
const LENGTH_DELIMITED = 2
const BIT64 = 1
/** Up to this many characters, a loop is faster than two calls into the runtime. */
const MAX_BY_HAND = 48

/** Writes the fields of a protobuf message in reverse order. */
export class BackwardWriter {
  #buffer: Buffer
  /** Offset of the first byte of the message. */
  #at: number

  /** size: initial size of the buffer, which grows. */
  constructor(size = FIRST_SIZE) {
    this.#buffer = Buffer.allocUnsafeSlow(size)
    this.#at = size
  }

  /** Begins a new message. */
  begin(): void {
    this.#at = this.#buffer.length
  }

  /** Returns a view of the written bytes, valid until begin(). */
  view(): Uint8Array {
    return this.#buffer.subarray(this.#at)
  }

  /** Returns the number of bytes written so far, to be passed to end() for a part that begins here. */
  mark(): number {
    return this.#buffer.length - this.#at
  }

  /** Makes everything written since mark the value of this field: a message or a string. */
  end(field: number, mark: number): void {
    this.#varint(this.mark() - mark)
    this.#varint((field << 3) | LENGTH_DELIMITED)
  }

  text(field: number, value: string): void {
    if (value.length <= MAX_BY_HAND && this.#ascii(value)) {
      this.#varint(value.length)
      this.#varint((field << 3) | LENGTH_DELIMITED)
      return
    }
    const length = Buffer.byteLength(value, 'utf8')
    this.#reserve(length)
    this.#at -= length
    this.#buffer.write(value, this.#at, length, 'utf8')
    this.#varint(length)
    this.#varint((field << 3) | LENGTH_DELIMITED)
  }

  bytes(field: number, value: Uint8Array): void {
    this.#reserve(value.length)
    this.#at -= value.length
    this.#buffer.set(value, this.#at)
    this.#varint(value.length)
    this.#varint((field << 3) | LENGTH_DELIMITED)
  }

  /** Writes a string of which each character is one byte. */
  latin1(field: number, value: string): void {
    this.#reserve(value.length)
    this.#at -= value.length
    this.#buffer.write(value, this.#at, value.length, 'latin1')
    this.#varint(value.length)
    this.#varint((field << 3) | LENGTH_DELIMITED)
  }

  /** Writes an unsigned number of at most 32 bits, or a boolean. */
  number(field: number, value: number): void {
    this.#varint(value)
    this.#varint(field << 3)
  }

  double(field: number, value: number): void {
    this.#reserve(8)
    this.#at -= 8
    this.#buffer.writeDoubleLE(value, this.#at)
    this.#varint((field << 3) | BIT64)
  }

  /** Writes a text of ASCII alone. Returns false if it is not. */
  #ascii(value: string): boolean {
    const { length } = value
    this.#reserve(length)
    const from = this.#at - length
    for (let i = 0; i < length; i++) {
      const code = value.charCodeAt(i)
      if (code > 0x7f) return false
      this.#buffer[from + i] = code
    }
    this.#at = from
    return true
  }

  #varint(value: number): void {
    this.#reserve(MAX_VARINT)
    if (value < 0x80) {
      this.#buffer[--this.#at] = value
      return
    }
    let length = 1
    for (let rest = value >>> 7; rest !== 0; rest >>>= 7) length += 1
    this.#at -= length
    let rest = value
    for (let i = this.#at; i < this.#at + length; i++) {
      const isLast = i === this.#at + length - 1
      this.#buffer[i] = isLast ? rest : (rest & 0x7f) | 0x80
      rest >>>= 7
    }
  }

  #reserve(length: number): void {
    if (this.#at >= length) return
    const used = this.mark()
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, used + length))
    this.#buffer.copy(larger, larger.length - used, this.#at)
    this.#buffer = larger
    this.#at = larger.length - used
  }
}
