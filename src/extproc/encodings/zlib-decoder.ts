// gzip, deflate, br and zstd, by Node's own decoders, which work off the loop.

import { randomBytes } from 'node:crypto'
import { finished } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { type Decoder, NO_BYTES } from './decoder.js'

type Stream =
  zlib.Gunzip | zlib.Inflate | zlib.InflateRaw | zlib.BrotliDecompress | zlib.ZstdDecompress

/** RFC 9659: the largest window (8 MiB) that content encoded for HTTP may ask of its decoder, as a power of two. */
const ZSTD_WINDOW_LOG = 23

/** maxBytes: what one piece may stand for; likewise below. */
export const gzipDecoder = (maxBytes: number): Decoder =>
  streamDecoder(() => zlib.createGunzip(), maxBytes)

export const brotliDecoder = (maxBytes: number): Decoder =>
  streamDecoder(() => zlib.createBrotliDecompress(), maxBytes)

export const zstdDecoder = (maxBytes: number): Decoder =>
  streamDecoder(
    () =>
      zlib.createZstdDecompress({
        params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
      }),
    maxBytes,
    END_MARK,
  )

/**
 * Node 22 takes zstd that breaks off for whole. So a frame of ours is put behind it: only where the one before it has ended
 * does that say just what we know it says.
 */
const END_MARK: EndMark = createEndMark(randomBytes(16))

interface EndMark {
  readonly content: Buffer
  readonly frame: Uint8Array
}

function createEndMark(content: Buffer): EndMark {
  return { content, frame: zlib.zstdCompressSync(content) }
}

/** RFC 9110 section 8.4.1.2: servers send it with and without the zlib frame. */
export const deflateDecoder = (maxBytes: number): Decoder =>
  streamDecoder(
    (firstByte) => ((firstByte & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw()),
    maxBytes,
  )

function streamDecoder(
  open: (firstByte: number) => Stream,
  maxBytes: number,
  endMark?: EndMark,
): Decoder {
  let stream: Stream | undefined
  let pieces: Uint8Array[] = []
  let size = 0
  let received = 0

  const start = (firstByte: number): Stream =>
    open(firstByte)
      .on('data', (piece: Uint8Array) => {
        pieces.push(piece)
        size += piece.length
        if (size > maxBytes) stream?.destroy(new Error('larger than it may be'))
      })
      // Told by the write or the end that it fails.
      .on('error', () => {})
  const take = (): Uint8Array => {
    const taken = Buffer.concat(pieces, size)
    pieces = []
    size = 0
    return taken
  }
  const says = async (from: Stream, { content, frame }: EndMark): Promise<boolean> =>
    (await written(from, frame)) && content.equals(take())
  return {
    push: async (bytes) => {
      const [firstByte] = bytes
      if (firstByte === undefined) return NO_BYTES
      stream ??= start(firstByte)
      received += bytes.length
      return (await written(stream, bytes)) ? take() : undefined
    },
    end: async () => {
      if (stream === undefined) return NO_BYTES
      // A client's decoder may read what this one leaves behind the end of what it knows.
      if (stream.bytesWritten !== received) return undefined
      if (endMark !== undefined && !(await says(stream, endMark))) return undefined
      try {
        await finished(stream.end())
        return take()
      } catch {
        return undefined
      }
    },
    close: () => stream?.destroy(),
  }
}

/** false: it was damaged, or is destroyed meanwhile. */
const written = (stream: Stream, bytes: Uint8Array): Promise<boolean> =>
  new Promise((resolve) => {
    const onClose = (): void => resolve(false)
    stream.once('close', onClose)
    stream.write(bytes, (error) => {
      stream.off('close', onClose)
      resolve(!error && !stream.destroyed)
    })
  })
