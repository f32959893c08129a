// Decodes a body by its Content-Encoding, within a byte limit (decision 18).

import { randomBytes } from 'node:crypto'
import { finished } from 'node:stream/promises'
import * as zlib from 'node:zlib'
import { chain, type Decoder, type DecoderLimits, identity, NO_BYTES } from './decoder.js'

// Decoders for gzip, deflate, br and zstd, based on Node's zlib, which runs off the event loop.

type Stream =
  zlib.Gunzip | zlib.Inflate | zlib.InflateRaw | zlib.BrotliDecompress | zlib.ZstdDecompress

/** Largest window (8 MiB) that HTTP content may require of a decoder, as a power of two (RFC 9659). */
const ZSTD_WINDOW_LOG = 23

/** Creates a decoder for gzip. */
export const gzipDecoder = (limits: DecoderLimits): Decoder =>
  streamDecoder(() => zlib.createGunzip(), limits)

/** Creates a decoder for br. */
const brotliDecoder = (limits: DecoderLimits): Decoder =>
  streamDecoder(() => zlib.createBrotliDecompress(), limits)

/** Creates a decoder for zstd, with a limited window. */
const zstdDecoder = (limits: DecoderLimits): Decoder =>
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
const deflateDecoder = (limits: DecoderLimits): Decoder =>
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
        if (mayHold?.(piece.length) === false || size > maxBytes)
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

type Open = (limits: DecoderLimits) => Decoder

const OPENERS: Readonly<Record<string, Open>> = {
  identity: () => identity,
  gzip: gzipDecoder,
  'x-gzip': gzipDecoder,
  br: brotliDecoder,
  deflate: deflateDecoder,
  zstd: zstdDecoder,
}

/** Maximum number of encodings accepted for one reply. */
const MAX_ENCODINGS = 4

/**
 * Returns the decoder factories in the order the encodings were applied; undefined: one is not supported, or too many.
 */
function openersOf(encoding: string): readonly Open[] | undefined {
  const names = encoding.split(',').flatMap((name) => name.trim().toLowerCase() || [])
  const known = names.flatMap((name) => (Object.hasOwn(OPENERS, name) && OPENERS[name]) || [])
  return known.length === names.length && names.length <= MAX_ENCODINGS ? known : undefined
}

/**
 * Whether a body with this encoding can be decoded. encoding: comma-separated names in the order applied (RFC 9110
 * section 8.4).
 */
export const isReadable = (encoding: string): boolean => openersOf(encoding) !== undefined

/**
 * Returns the one encoding of a request's body; "": none. undefined: it is not supported, or there are several, which no
 * client needs and some servers undo in another order. values: of Content-Encoding.
 */
export function requestEncoding(values: readonly string[]): string | undefined {
  const [encoding = '', ...others] = values.map((value) => value.trim().toLowerCase())
  if (encoding === 'identity' && others.every((other) => other === 'identity')) return ''
  const isOne = others.length === 0 && !encoding.includes(',')
  return isOne && isReadable(encoding) ? encoding : undefined
}

/** Returns a decoder, or undefined if the encoding is not supported. */
export const decoderOf = (encoding: string, limits: DecoderLimits): Decoder | undefined =>
  openersOf(encoding)?.reduceRight((outer, open) => chain(outer, open(limits)), identity)

/**
 * Decodes a whole body. undefined: the encoding is not supported, the body is damaged, or its decoded form exceeds
 * the limits.
 */
export async function decodeReply(
  body: Uint8Array,
  encoding: string,
  limits: DecoderLimits,
): Promise<Uint8Array | undefined> {
  if (encoding === '') return body
  const decoder = decoderOf(encoding, limits)
  if (decoder === undefined || decoder === identity) return decoder && body
  const decoded = await decoder.push(body)
  const rest = decoded && (await decoder.end())
  decoder.close()
  if (!rest || decoded.length + rest.length > limits.maxBytes) return undefined
  return rest.length === 0 ? decoded : Buffer.concat([decoded, rest])
}

/** Why a body with an unknown or damaged encoding is not read. */
export const UNREADABLE_ENCODING = 'it is compressed in a way that cannot be read'
