// Writes a protobuf message from its end to its start, into one buffer for all: the length of a part is known when its
// prefix is written. So fields are written last first, and a part before what is to stand before it.

const FIRST_SIZE = 64 * 1024
/** Of a varint of 32 bits. */
const MAX_VARINT = 5
const LENGTH_DELIMITED = 2
const BIT64 = 1

export class BackwardWriter {
  private buffer: Buffer
  /** Of the first byte that is written. */
  private at: number

  /** size: of its memory, which grows. */
  constructor(size = FIRST_SIZE) {
    this.buffer = Buffer.allocUnsafeSlow(size)
    this.at = size
  }

  /** Begins anew. What finish() gave stays as it is. */
  begin(): void {
    this.at = this.buffer.length
  }

  /** A copy of what was written. */
  finish(): Uint8Array {
    return new Uint8Array(this.buffer.subarray(this.at))
  }

  /** What was written, where it lies: gone with begin(). */
  view(): Uint8Array {
    return this.buffer.subarray(this.at)
  }

  /** Bytes written until now: what end() must be given of a part that begins here. */
  mark(): number {
    return this.buffer.length - this.at
  }

  /** What was written since mark is the value of this field: a message, or a string. */
  end(field: number, mark: number): void {
    this.varint(this.mark() - mark)
    this.varint((field << 3) | LENGTH_DELIMITED)
  }

  text(field: number, value: string): void {
    const length = Buffer.byteLength(value, 'utf8')
    this.reserve(length)
    this.at -= length
    this.buffer.write(value, this.at, length, 'utf8')
    this.varint(length)
    this.varint((field << 3) | LENGTH_DELIMITED)
  }

  bytes(field: number, value: Uint8Array): void {
    this.reserve(value.length)
    this.at -= value.length
    this.buffer.set(value, this.at)
    this.varint(value.length)
    this.varint((field << 3) | LENGTH_DELIMITED)
  }

  /** Bytes, of which each is a character. */
  latin1(field: number, value: string): void {
    this.reserve(value.length)
    this.at -= value.length
    this.buffer.write(value, this.at, value.length, 'latin1')
    this.varint(value.length)
    this.varint((field << 3) | LENGTH_DELIMITED)
  }

  /** An unsigned number of at most 32 bits, or a boolean. */
  number(field: number, value: number): void {
    this.varint(value)
    this.varint(field << 3)
  }

  double(field: number, value: number): void {
    this.reserve(8)
    this.at -= 8
    this.buffer.writeDoubleLE(value, this.at)
    this.varint((field << 3) | BIT64)
  }

  private varint(value: number): void {
    this.reserve(MAX_VARINT)
    if (value < 0x80) {
      this.buffer[--this.at] = value
      return
    }
    let length = 1
    for (let rest = value >>> 7; rest !== 0; rest >>>= 7) length += 1
    this.at -= length
    let rest = value
    for (let i = this.at; i < this.at + length; i++) {
      const isLast = i === this.at + length - 1
      this.buffer[i] = isLast ? rest : (rest & 0x7f) | 0x80
      rest >>>= 7
    }
  }

  private reserve(length: number): void {
    if (this.at >= length) return
    const used = this.mark()
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, used + length))
    this.buffer.copy(larger, larger.length - used, this.at)
    this.buffer = larger
    this.at = larger.length - used
  }
}
