// A zstd body (RFC 8878) → the bytes it stands for. The decoder trusts its input with memory and time, so its frame is
// looked through first, and each of its blocks is decoded within a time limit.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { createContext, Script } from 'node:vm'
import { Decompress } from 'fzstd'

/** RFC 9659: what content that is encoded for HTTP may ask of its decoder. */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024
/** RFC 8878 section 3.1.1.2.4. */
const MAX_BLOCK_BYTES = 128 * 1024
/** Nothing else runs meanwhile. An honest block takes a few milliseconds. */
const MAX_BLOCK_MS = 500
/** For all blocks: many small ones with a large window take long too. */
const MAX_MS = 10_000

/** Rejects for what is damaged, of several frames, larger than maxBytes, or takes too much memory or time. */
export async function decodeZstd(body: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let size = 0
  const decoder = new Decompress((piece) => {
    size += piece.length
    if (size > maxBytes) throw new Error('larger than it may be')
    pieces.push(piece)
  })
  let leftMs = MAX_MS
  for (const { start, end } of blocksOf(body)) {
    const began = performance.now()
    within(Math.min(leftMs, MAX_BLOCK_MS), () => {
      decoder.push(body.subarray(start, end), end === body.length)
    })
    leftMs -= performance.now() - began
    await nextTurn()
  }
  return Buffer.concat(pieces, size)
}

interface Block {
  readonly start: number
  readonly end: number
}

/** The one frame of a body, cut at its blocks: the first with the frame's header, the last with its checksum. */
function blocksOf(body: Uint8Array): readonly Block[] {
  const blocks: Block[] = []
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  let [start, at] = [0, afterHeader(view)]
  for (;;) {
    const { isLast, type, size } = blockHeader(view, at)
    if (size > MAX_BLOCK_BYTES) throw new Error('a block is too large')
    // A repeated byte stands there once.
    at += 3 + (type === 1 ? 1 : size)
    if (isLast && hasChecksum(view)) at += 4
    if (at > body.length) throw new Error('it breaks off')
    blocks.push({ start, end: at })
    if (!isLast) start = at
    else if (at === body.length) return blocks
    else throw new Error('there is more after its frame')
  }
}

const hasChecksum = (view: DataView): boolean => (view.getUint8(4) & 0x04) !== 0

/** RFC 8878 section 3.1.1.2. */
function blockHeader(view: DataView, at: number) {
  const header = view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
  return { isLast: (header & 1) === 1, type: (header >> 1) & 3, size: header >> 3 }
}

/** Where the first block begins (RFC 8878 section 3.1.1.1). */
function afterHeader(view: DataView): number {
  const descriptor = view.getUint8(4)
  if (view.getUint32(0, true) !== 0xfd2fb528 || (descriptor & 0x0b) !== 0)
    throw new Error('not a frame, or one that needs a dictionary')
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0
  const sizeAt = isSingleSegment ? 5 : 6
  const window = isSingleSegment ? contentSize(view, sizeAt, sizeBytes) : windowSize(view)
  if (window > MAX_WINDOW_BYTES) throw new Error('it needs too much memory')
  return sizeAt + sizeBytes
}

function windowSize(view: DataView): number {
  const descriptor = view.getUint8(5)
  const base = 2 ** (10 + (descriptor >> 3))
  return base + (base / 8) * (descriptor & 7)
}

function contentSize(view: DataView, at: number, bytes: number): number {
  if (bytes === 1) return view.getUint8(at)
  if (bytes === 2) return view.getUint16(at, true) + 256
  return bytes === 4 ? view.getUint32(at, true) : Number(view.getBigUint64(at, true))
}

const RUN = new Script('run()')

/** Ends what runs too long: a block of a few bytes can make the decoder copy for minutes. */
function within(timeoutMs: number, run: () => void): void {
  RUN.runInContext(createContext({ run }), { timeout: Math.max(1, Math.ceil(timeoutMs)) })
}
