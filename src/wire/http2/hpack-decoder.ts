// HPACK decoder (RFC 7541) with its dynamic table, and a memo of repeated blocks. Written by hand, as Node has HPACK only
// within node:http2.

import { GatehouseError } from '../../kit/errors.js'
import { decodeHuffman } from './huffman.js'
import { type HeaderField, STATIC_TABLE } from './static-table.js'

/** The header list exceeds the limit; the rest of the block is not decoded. */
export class HeaderListTooLarge extends GatehouseError {
  readonly code = 'header_list_too_large'
}

/** Added to the length of each field in a table or list (RFC 7541, section 4.1; RFC 9113, section 6.5.2). */
const FIELD_OVERHEAD = 32
/** Largest shift of a continuation byte: larger integers refer to nothing that fits into a header block. */
const MAX_INTEGER_SHIFT = 21

/** HPACK decoder of one connection, with its dynamic table (RFC 7541, section 2.3.2). */
export class HpackDecoder {
  readonly #maxTableSize: number
  readonly #maxListSize: number
  /** The dynamic table, oldest entry first. */
  #table: HeaderField[] = []
  #tableSize = 0
  #tableLimit: number
  #changed = false
  #block: Buffer = Buffer.alloc(0)
  #at = 0
  #end = 0
  readonly #memo = new BlockMemo()

  /** maxTableSize: this server's SETTINGS_HEADER_TABLE_SIZE. */
  constructor(maxTableSize: number, maxListSize: number) {
    this.#maxTableSize = maxTableSize
    this.#maxListSize = maxListSize
    this.#tableLimit = maxTableSize
  }

  /**
   * Decodes a block. Returns the same list for a recently repeated block while the table is unchanged.
   * @throws {RangeError} not a valid header block: COMPRESSION_ERROR. @throws {HeaderListTooLarge}
   */
  decode(block: Buffer, from: number, to: number): readonly HeaderField[] {
    const known = this.#memo.find(block, from, to)
    if (known !== undefined) return known
    this.#block = block
    this.#at = from
    this.#end = to
    this.#changed = false
    this.#readSizeUpdates()
    const list = this.#readFields()
    if (this.#changed) this.#memo.forget()
    else this.#memo.keep(block.subarray(from, to), list)
    return list
  }

  /** Reads size updates, which are allowed only at the beginning of a block (section 4.2). */
  #readSizeUpdates(): void {
    while (this.#at < this.#end && ((this.#block[this.#at] as number) & 0xe0) === 0x20) {
      const size = this.#integer(5)
      if (size > this.#maxTableSize) throw new RangeError('a table larger than allowed')
      this.#tableLimit = size
      this.#changed = true
      this.#evict(0)
    }
  }

  #readFields(): readonly HeaderField[] {
    const list: HeaderField[] = []
    let size = 0
    while (this.#at < this.#end) {
      const field = this.#field(this.#block[this.#at] as number)
      size += sizeOf(field)
      if (size > this.#maxListSize) throw new HeaderListTooLarge()
      list.push(field)
    }
    return list
  }

  #field(first: number): HeaderField {
    if ((first & 0x80) !== 0) return this.#entry(this.#integer(7)) // section 6.1
    if ((first & 0xe0) === 0x20) throw new RangeError('a size update between fields')
    const isAdded = (first & 0xc0) === 0x40 // section 6.2.1; else 6.2.2 and 6.2.3
    const index = this.#integer(isAdded ? 6 : 4)
    const name = index === 0 ? this.#string() : this.#entry(index)[0]
    const field: HeaderField = [name, this.#string()]
    if (isAdded) this.#add(field)
    return field
  }

  /** Reads an integer (section 5.1). */
  #integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1
    let value = this.#byte() & mask
    if (value < mask) return value
    for (let shift = 0; shift <= MAX_INTEGER_SHIFT; shift += 7) {
      const byte = this.#byte()
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw new RangeError('an integer too large')
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new RangeError('a block that ends early')
    return this.#block[this.#at++] as number
  }

  /** Reads a string (section 5.2). Field values are octets, so each byte becomes one character. */
  #string(): string {
    const isHuffman = this.#at < this.#end && ((this.#block[this.#at] as number) & 0x80) !== 0
    const length = this.#integer(7)
    const from = this.#at
    if (length > this.#end - from) throw new RangeError('a string that ends after its block')
    this.#at += length
    return isHuffman
      ? decodeHuffman(this.#block, from, this.#at)
      : this.#block.toString('latin1', from, this.#at)
  }

  /** Returns an indexed entry: the static table, then the dynamic one, newest first (section 2.3.3). */
  #entry(index: number): HeaderField {
    const field =
      index <= STATIC_TABLE.length
        ? STATIC_TABLE[index - 1]
        : this.#table[this.#table.length - (index - STATIC_TABLE.length)]
    if (field === undefined) throw new RangeError('an index of no entry')
    return field
  }

  /** Adds an entry. One that is larger than the table empties it, which is not an error (section 4.4). */
  #add(field: HeaderField): void {
    this.#changed = true
    const size = sizeOf(field)
    this.#evict(size)
    if (size > this.#tableLimit) return
    this.#table.push(field)
    this.#tableSize += size
  }

  #evict(room: number): void {
    let evicted = 0
    while (this.#tableSize + room > this.#tableLimit && evicted < this.#table.length) {
      this.#tableSize -= sizeOf(this.#table[evicted] as HeaderField)
      evicted += 1
    }
    if (evicted > 0) this.#table.splice(0, evicted)
  }
}

/** Size of a field as tables and SETTINGS_MAX_HEADER_LIST_SIZE count it (RFC 7541, section 4.1), in bytes. */
export const sizeOf = ([name, value]: HeaderField): number =>
  name.length + value.length + FIELD_OVERHEAD

/** Recent blocks that did not change the table: a client sends the same block for most of its calls. */
class BlockMemo {
  readonly #blocks: KnownBlock[] = []
  #next = 0

  find(block: Buffer, from: number, to: number): readonly HeaderField[] | undefined {
    const blocks = this.#blocks
    for (let i = 0; i < blocks.length; i++) {
      const { bytes, list } = blocks[i] as KnownBlock
      if (bytes.length === to - from && isAt(bytes, block, from)) return list
    }
    return undefined
  }

  keep(block: Buffer, list: readonly HeaderField[]): void {
    if (block.length > MAX_REMEMBERED_BYTES) return
    this.#blocks[this.#next] = { bytes: Buffer.from(block), list }
    this.#next = (this.#next + 1) % REMEMBERED_BLOCKS
  }

  forget(): void {
    this.#blocks.length = 0
    this.#next = 0
  }
}

interface KnownBlock {
  readonly bytes: Buffer
  readonly list: readonly HeaderField[]
}

/** Compares a block. Repeated blocks are a few indexes, for which a loop is faster than a call into the runtime. */
function isAt(bytes: Buffer, block: Buffer, from: number): boolean {
  const { length } = bytes
  if (length > MAX_BY_HAND) return bytes.compare(block, from, from + length) === 0
  for (let i = 0; i < length; i++) if (bytes[i] !== block[from + i]) return false
  return true
}

const MAX_BY_HAND = 64
const REMEMBERED_BLOCKS = 4
const MAX_REMEMBERED_BYTES = 1_024
