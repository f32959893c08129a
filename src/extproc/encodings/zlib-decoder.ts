// Decoders for gzip, deflate, br and zstd, based on Node's zlib, which runs off the event loop.

import { randomBytes } from 'node:crypto'
import { finished } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { type Decoder, type DecoderLimits, NO_BYTES } from './decoder.js'

type Stream =
  zlib.Gunzip | zlib.Inflate | zlib.InflateRaw | zlib.BrotliDecompress | zlib.ZstdDecompress

/** Largest window (8 MiB) that HTTP content may require of a decoder, as a power of two (RFC 9659). */
const ZSTD_WINDOW_LOG = 23

/** Creates a decoder for gzip. */
export const gzipDecoder = (limits: DecoderLimits): Decoder =>
  streamDecoder(() => zlib.createGunzip(), limits)

/** Creates a decoder for br. */
export const brotliDecoder = (limits: DecoderLimits): Decoder =>
  streamDecoder(() => zlib.createBrotliDecompress(), limits)

/** Creates a decoder for zstd, with a limited window. */
export const zstdDecoder = (limits: DecoderLimits): Decoder =>
  streamDecoder(
    () =>
      zlib.createZstdDecompress({
        params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
      }),
    limits,
    END_MARK,
  )

/**
 * A random zstd frame appended to the input at its end. Node 22 accepts truncated zstd as complete. The appended frame
 * decodes to exactly its own content only if the frame before it has ended.
 */
const END_MARK: EndMark = createEndMark(randomBytes(16))

interface EndMark {
  readonly content: Buffer
  readonly frame: Uint8Array
}

function createEndMark(content: Buffer): EndMark {
  return { content, frame: zlib.zstdCompressSync(content) }
}

/** RFC 9110 section 8.4.1.2: servers send deflate both with and without the zlib wrapper. */
export const deflateDecoder = (limits: DecoderLimits): Decoder =>
  streamDecoder(
    (firstByte) => ((firstByte & 0x0f) === 8 ? zlib.createInflate() : zlib.createInflateRaw()),
    limits,
  )

function streamDecoder(
  open: (firstByte: number) => Stream,
  { maxBytes, mayHold }: DecoderLimits,
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
        if (size > maxBytes || mayHold?.(piece.length) === false)
          stream?.destroy(new Error('larger than it may be'))
      })
      // The failing write or end reports it.
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
      // Bytes that this decoder ignores after its data might be read by the client's decoder.
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

/** Resolves to false if the data was damaged or the stream has been destroyed. */
const written = (stream: Stream, bytes: Uint8Array): Promise<boolean> =>
  new Promise((resolve) => {
    const onClose = (): void => resolve(false)
    stream.once('close', onClose)
    stream.write(bytes, (error) => {
      stream.off('close', onClose)
      resolve(!error && !stream.destroyed)
    })
  })
