// The outline of a zstd frame (RFC 8878 section 3.1.1): where its header and its blocks end, before anything of it is
// decoded. Throws for what we do not read.

/** RFC 9659: what content that is encoded for HTTP may ask of its decoder. */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024
/** Section 3.1.1.2.4. */
const MAX_BLOCK_BYTES = 128 * 1024

const MAGIC = 0xfd2fb528
/** Its magic number, and the descriptor that tells how long it is. */
const LEAST_HEADER_BYTES = 5
const BLOCK_HEADER_BYTES = 3
const CHECKSUM_BYTES = 4

export interface FrameHeader {
  /** Bytes. */
  readonly length: number
  readonly hasChecksum: boolean
}

/** undefined: not all of it is there. */
export function frameHeader(bytes: Buffer): FrameHeader | undefined {
  if (bytes.length < LEAST_HEADER_BYTES) return undefined
  const descriptor = bytes.readUInt8(4)
  if (bytes.readUInt32LE() !== MAGIC || (descriptor & 0x0b) !== 0)
    throw new Error('not a frame, or one that needs a dictionary')
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0
  const sizeAt = isSingleSegment ? 5 : 6
  const length = sizeAt + sizeBytes
  if (bytes.length < length) return undefined
  const window = isSingleSegment ? contentSize(bytes, sizeAt, sizeBytes) : windowSize(bytes)
  if (window > MAX_WINDOW_BYTES) throw new Error('it needs too much memory')
  return { length, hasChecksum: (descriptor & 0x04) !== 0 }
}

function windowSize(bytes: Buffer): number {
  const descriptor = bytes.readUInt8(5)
  const base = 2 ** (10 + (descriptor >> 3))
  return base + (base / 8) * (descriptor & 7)
}

function contentSize(bytes: Buffer, at: number, size: number): number {
  if (size === 1) return bytes.readUInt8(at)
  if (size === 2) return bytes.readUInt16LE(at) + 256
  return size === 4 ? bytes.readUInt32LE(at) : Number(bytes.readBigUInt64LE(at))
}

export interface Block {
  /** Bytes, with its header, and with the frame's checksum where it is the last. */
  readonly length: number
  readonly isLast: boolean
}

/** The block that begins there (section 3.1.1.2). undefined: not all of it is there. */
export function blockAt(bytes: Buffer, at: number, hasChecksum: boolean): Block | undefined {
  if (bytes.length < at + BLOCK_HEADER_BYTES) return undefined
  const header = bytes.readUIntLE(at, BLOCK_HEADER_BYTES)
  const [isLast, isRepeated, size] = [(header & 1) === 1, ((header >> 1) & 3) === 1, header >> 3]
  if (size > MAX_BLOCK_BYTES) throw new Error('a block is too large')
  const content = isRepeated ? 1 : size
  const length = BLOCK_HEADER_BYTES + content + (isLast && hasChecksum ? CHECKSUM_BYTES : 0)
  return bytes.length < at + length ? undefined : { length, isLast }
}
