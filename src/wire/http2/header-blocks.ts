// Decodes HEADERS and CONTINUATION frames into header lists (RFC 9113, sections 4.3, 6.2 and 6.10).

import type { Frame } from './frame-reader.js'
import { expectLength, withoutPadding } from './frame-rules.js'
import type { HeldHeads } from './held-heads.js'
import { HeaderListTooLarge, HpackDecoder } from './hpack-decoder.js'
import { ConnectionError, DEFAULT_TABLE_SIZE, ErrorCode, FrameFlag } from './protocol.js'
import type { HeaderField } from './static-table.js'

/** A decoded field block: HEADERS with its CONTINUATIONs (RFC 9113, section 4.3). */
export interface HeaderBlock {
  readonly streamId: number
  readonly endStream: boolean
  /** Whether the priority fields make the stream depend on itself. */
  readonly dependsOnItself: boolean
  /** The header list; the same object for recently repeated blocks. */
  readonly list: readonly HeaderField[]
}

interface OpenBlock {
  readonly streamId: number
  readonly endStream: boolean
  readonly dependsOnItself: boolean
  /** Has spare capacity, because a block may arrive in as many frames as it has bytes. */
  buffer: Buffer
  length: number
  /** When it was first looked at. */
  seenAt?: number
}

/** Maximum size of a header list, and of the header block that carries it. */
export const MAX_HEADER_LIST_BYTES = 65_536

/** Longest time for the rest of a header block. */
const BLOCK_MS = 30_000

/** Flags that affect parsing. Nearly all blocks have only END_HEADERS of them: one frame, no padding, no priority. */
const PLAIN = FrameFlag.END_HEADERS | FrameFlag.PADDED | FrameFlag.PRIORITY

/** Size of the exclusive flag, stream dependency and weight. */
const PRIORITY_BYTES = 5

/** Assembles and decodes the field blocks of one connection, which share an HPACK state. */
export class HeaderBlocks {
  readonly #decoder = new HpackDecoder(DEFAULT_TABLE_SIZE, MAX_HEADER_LIST_BYTES)
  readonly #held: HeldHeads
  #open: OpenBlock | undefined

  constructor(held: HeldHeads) {
    this.#held = held
  }

  /** Whether the next frame must be a CONTINUATION. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** Whether a block has been unfinished for too long; called about once a second. */
  isLate(now: number): boolean {
    if (this.#open === undefined) return false
    this.#open.seenAt ??= now
    return now - this.#open.seenAt > BLOCK_MS
  }

  /** Gives up an unfinished block. */
  clear(): void {
    if (this.#open !== undefined) this.#held.add(-this.#open.buffer.length)
    this.#open = undefined
  }

  /** Handles HEADERS. Returns undefined if the block continues. @throws {ConnectionError} */
  begin(frame: Frame): HeaderBlock | undefined {
    const { flags, buffer, streamId } = frame
    if ((flags & PLAIN) === FrameFlag.END_HEADERS) {
      const list = this.#decode(buffer, frame.from, frame.to)
      const endStream = (flags & FrameFlag.END_STREAM) !== 0
      return { streamId, endStream, dependsOnItself: false, list }
    }
    const { from, to } = withoutPadding(frame)
    const hasPriority = (flags & FrameFlag.PRIORITY) !== 0
    if (hasPriority && to - from < PRIORITY_BYTES)
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'no priority fields')
    const begun = {
      streamId,
      endStream: (flags & FrameFlag.END_STREAM) !== 0,
      dependsOnItself: hasPriority && dependency(buffer, from) === streamId,
    }
    const start = hasPriority ? from + PRIORITY_BYTES : from
    if ((flags & FrameFlag.END_HEADERS) !== 0)
      return { ...begun, list: this.#decode(buffer, start, to) }
    this.#open = { ...begun, buffer: Buffer.alloc(0), length: 0 }
    this.#append(this.#open, buffer, start, to)
    return undefined
  }

  /** Handles CONTINUATION. Returns undefined if the block continues. @throws {ConnectionError} */
  continue({ streamId, flags, buffer, from, to }: Frame): HeaderBlock | undefined {
    const open = this.#open
    if (open?.streamId !== streamId)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'CONTINUATION of nothing')
    if (open.length + to - from > MAX_HEADER_LIST_BYTES) throw tooLarge()
    this.#append(open, buffer, from, to)
    if ((flags & FrameFlag.END_HEADERS) === 0) return undefined
    this.clear()
    const { endStream, dependsOnItself } = open
    return { streamId, endStream, dependsOnItself, list: this.#decode(open.buffer, 0, open.length) }
  }

  #append(open: OpenBlock, buffer: Buffer, from: number, to: number): void {
    const length = open.length + to - from
    if (length > open.buffer.length) {
      if (!this.#held.add(2 * length - open.buffer.length)) throw tooMany()
      const larger = Buffer.allocUnsafeSlow(2 * length)
      open.buffer.copy(larger, 0, 0, open.length)
      open.buffer = larger
    }
    buffer.copy(open.buffer, open.length, from, to)
    open.length = length
  }

  #decode(block: Buffer, from: number, to: number): readonly HeaderField[] {
    try {
      return this.#decoder.decode(block, from, to)
    } catch (error) {
      if (error instanceof HeaderListTooLarge) throw tooLarge()
      if (!(error instanceof RangeError)) throw error
      throw new ConnectionError(ErrorCode.COMPRESSION_ERROR, error.message)
    }
  }
}

/** Reads the stream dependency (RFC 7540, section 5.3.1), which clients may still send. */
export const dependency = (buffer: Buffer, at: number): number =>
  buffer.readUInt32BE(at) & 0x7fffffff

/** Since the rest of the block is not decoded, the HPACK state is lost and the connection must end (section 4.3). */
const tooLarge = (): ConnectionError =>
  new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'a header list that is too large')

const tooMany = (): ConnectionError =>
  new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many headers of all connections')

/** Whether a PRIORITY frame makes its stream depend on itself (section 6.3). @throws {ConnectionError} */
export const isPriorityOfItself = (frame: Frame): boolean =>
  dependency(expectLength(frame, PRIORITY_BYTES).buffer, frame.from) === frame.streamId
